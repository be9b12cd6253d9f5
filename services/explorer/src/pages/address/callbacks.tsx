import { allCallbacks, callbackOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { callbacksPath, searchPath } from "../../routing/paths.ts";
import { formatMinute, plural } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";

const MAX_SHOWN = 10;

/** Whom the address calls home to. */
export function CalledHosts({ ip }: { readonly ip: string }) {
  const callbacks = useAnswer(allCallbacks({ query: `ip:${ip}`, limit: MAX_SHOWN }));
  return (
    <Loaded of={callbacks} what="whom it calls home to">
      {({ count, callbacks: hosts }) =>
        count === 0 ? null : (
          <section aria-labelledby="callbacks">
            <h2 id="callbacks">Whom it calls home to</h2>
            <ul class="tags">
              {hosts.map(({ host, known_as: as, visitors: _, last_seen: last }) => (
                <li key={host} data-callback={host}>
                  <code>
                    <Hostile text={host} />
                  </code>
                  , {formatMinute(last)}
                  {as === "" ? "" : ", well known: "}
                  <Hostile text={as} />
                </li>
              ))}
            </ul>
            <a href={callbacksPath(`ip:${ip}`)}>
              {count > hosts.length ? `All ${plural(count, "host")}` : "In which words"}
            </a>
          </section>
        )
      }
    </Loaded>
  );
}

/** Whether visitors named the address as one to fetch from. */
export function NamedByVisitors({ ip }: { readonly ip: string }) {
  const named = useAnswer(callbackOf(ip));
  return (
    <Loaded of={named} what="who named it">
      {({ items }) =>
        items.map(({ scanner_count: visitors, first_seen: first, last_seen: last }) => (
          <p key={ip} class="notice" data-named>
            {plural(visitors, "visitor")} told sensors to fetch from this address, or to connect to it, since{" "}
            {formatMinute(first)}, last {formatMinute(last)}. <a href={searchPath(`callback:"${ip}"`)}>Who did</a>
          </p>
        ))
      }
    </Loaded>
  );
}
