import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { AddressObservation } from "../../api/operations.ts";
import { observationsOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { tagPath } from "../../routing/paths.ts";
import { portPath, ValueLink } from "../../search/value-search.tsx";
import { ScrollRegion } from "../../shell/scroll-region.tsx";
import { formatMinute, plural } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { Code, LinkedCode } from "./facts.tsx";
import { Tried } from "./interaction.tsx";

/** What an address did, step by step: each page takes a lookup, so none is loaded before it is asked for. */
export function Observations({ ip }: { readonly ip: string }) {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const showNext = (cursor: string) => setCursors((shown) => [...shown, cursor]);
  return (
    <section aria-labelledby="observations">
      <h2 id="observations">What it did, step by step</h2>
      {cursors.length === 0 ? (
        <p>
          <button type="button" onClick={() => showNext("")}>
            Show the newest observations
          </button>
        </p>
      ) : null}
      {cursors.map((cursor, index) => (
        <Page key={cursor} ip={ip} cursor={cursor} showNext={index === cursors.length - 1 ? showNext : undefined} />
      ))}
    </section>
  );
}

type PageProps = {
  readonly ip: string;
  readonly cursor: string;
  /** Undefined where the next page is shown already. */
  readonly showNext: ((cursor: string) => void) | undefined;
};

function Page({ ip, cursor, showNext }: PageProps) {
  const page = useAnswer(observationsOf(ip, cursor));
  return (
    <Loaded of={page} what="what it did">
      {({ observations, cursor: next }) => (
        <>
          <ScrollRegion label="Observations, newest first">
            <table data-observations-page>
              <caption class="hidden">Observations, newest first</caption>
              <thead>
                <tr>
                  <th scope="col">Time (UTC)</th>
                  <th scope="col">Port</th>
                  <th scope="col">What it did</th>
                  <th scope="col">Tags</th>
                </tr>
              </thead>
              <tbody>
                {observations.map((one, index) => (
                  <Row key={`${one.observed_at}-${index}`} observation={one} />
                ))}
              </tbody>
            </table>
          </ScrollRegion>
          {next === "" || showNext === undefined ? null : (
            <p>
              <button type="button" onClick={() => showNext(next)}>
                Show older ones
              </button>
            </p>
          )}
        </>
      )}
    </Loaded>
  );
}

const GIVEN_BY = {
  sensor: "given by the sensor",
  rule: "given by its rule",
  both: "given by the sensor and by its rule",
} as const;

function Row({ observation }: { readonly observation: AddressObservation }) {
  const { observed_at, destination_port, transport, tags, sensor_id } = observation;
  const done = stepsOf(observation);
  return (
    <tr>
      <th scope="row" class="when">
        {formatMinute(observed_at)}
        {sensor_id === undefined ? null : (
          <div class="faint">
            <ValueLink field="sensor" value={sensor_id} />
          </div>
        )}
      </th>
      <td>
        {destination_port === undefined ? null : (
          <a href={portPath(destination_port, transport)}>
            {destination_port}
            {transport === undefined ? null : `/${transport}`}
          </a>
        )}
      </td>
      <td>
        {done.length === 0 ? (
          <span class="faint">connected</span>
        ) : (
          <ul class="values">
            {done.map((step, index) => (
              <li key={index}>{step}</li>
            ))}
          </ul>
        )}
      </td>
      <td>
        {tags.map(({ slug, name, given_by }, index) => (
          <>
            {index === 0 ? null : ", "}
            <a href={tagPath(slug)} title={GIVEN_BY[given_by]}>
              <Hostile text={name} />
            </a>
          </>
        ))}
      </td>
    </tr>
  );
}

/** What an observation says of the address, in the order of a visit. */
function stepsOf(one: AddressObservation): ComponentChildren[] {
  const { http, ssh, tls, credentials = [], login_attempts: attempts = 0 } = one;
  const hellos = [
    ["sni", tls?.sni],
    ["ja4", tls?.ja4],
    ["ja3", tls?.ja3],
    ["hassh", ssh?.hassh],
  ] as const;
  return [
    ...(ssh?.banner === undefined ? [] : [<Code text={ssh.banner} />]),
    ...hellos.flatMap(([field, text]) => (text === undefined ? [] : [<LinkedCode field={field} text={text} />])),
    ...(http === undefined ? [] : [<Request http={http} />]),
    ...(credentials.length === 0 && attempts > 0 ? [plural(attempts, "login attempt")] : []),
    ...credentials.map(({ username, password }) => (
      <>
        tried <Tried username={username} password={password} />
      </>
    )),
    ...(one.commands ?? []).map((command) => (
      <>
        typed <LinkedCode field="command" text={command} />
      </>
    )),
    ...(one.urls ?? []).map((url) => (
      <>
        downloaded <LinkedCode field="url" text={url} />
      </>
    )),
    ...callbacksOf(one).map((host) => (
      <>
        told the sensor to call <LinkedCode field="callback" text={host} />
      </>
    )),
    ...(one.payload_sha256 ?? []).map((digest) => (
      <>
        left <LinkedCode field="sha256" text={digest} />
      </>
    )),
    ...(one.labels ?? []).map((label) => <Hostile text={label} />),
  ];
}

const callbacksOf = ({ callbacks = [] }: AddressObservation) => [...new Set(callbacks.map(({ host }) => host))];

function Request({ http }: { readonly http: NonNullable<AddressObservation["http"]> }) {
  const { method, path, query, user_agent: agent, host } = http;
  return (
    <>
      {method === undefined ? null : <LinkedCode field="method" text={method} />}{" "}
      {path === undefined ? null : <LinkedCode field="path" text={path} />}
      {query === undefined ? null : <Code text={`?${query}`} />}
      {host === undefined ? null : (
        <>
          {" "}
          of <LinkedCode field="host" text={host} />
        </>
      )}
      {agent === undefined ? null : (
        <>
          {" "}
          as <LinkedCode field="user_agent" text={agent} />
        </>
      )}
    </>
  );
}
