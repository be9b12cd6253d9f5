import { isIpv4, isRoutableIpv4 } from "@noisefloor/domain/address/ipv4.ts";
import { useRoute } from "preact-iso";
import type { AddressContext } from "../../api/operations.ts";
import { addressOf } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { Badge } from "../../shell/badge.tsx";
import { formatAgo, formatCount, formatMinute } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { AddressTags } from "./address-tags.tsx";
import { Behavior } from "./behavior.tsx";
import { CalledHosts, NamedByVisitors } from "./callbacks.tsx";
import { Interaction } from "./interaction.tsx";
import { BenignService, Network } from "./network.tsx";
import { Observations } from "./observations.tsx";
import { Raw } from "./raw.tsx";
import { Sensors } from "./sensors.tsx";
import { AddressTimeline } from "./timeline/timeline.tsx";
import { contactOf, verdictOf } from "./verdict.ts";

/** `/ip/{ip}` and `/riot/{ip}`: what an address is, and why. */
export function AddressPage() {
  const { ip = "" } = useRoute().params;
  usePageTitle(ip);
  if (!isRoutableIpv4(ip)) return <NoAddress text={ip} />;
  // Nothing of an address stays while the next one loads.
  return <KnownAddress key={ip} ip={ip} />;
}

function NoAddress({ text }: { readonly text: string }) {
  return (
    <>
      <h1>
        <Hostile text={text} />
      </h1>
      <p class="notice">
        {isIpv4(text)
          ? "This address is not reached over the Internet: it is private, reserved or for special use. No record can be about it."
          : "This is not an IPv4 address. Write one as four numbers, like 192.175.48.6."}
      </p>
    </>
  );
}

function KnownAddress({ ip }: { readonly ip: string }) {
  const address = useAnswer(addressOf(ip));
  return (
    <>
      <h1 class="address">{ip}</h1>
      <Loaded of={address} what="what is known of this address">
        {(context) => <Details context={context} />}
      </Loaded>
    </>
  );
}

function Details({ context }: { readonly context: AddressContext }) {
  const { ip, internet_scanner_intelligence: scanner, business_service_intelligence: service } = context;
  const { verdict, sentence } = verdictOf(scanner, service);
  const contact = contactOf(scanner);
  return (
    <>
      <p class="verdict">
        <Badge verdict={verdict} isLarge /> {sentence}
      </p>
      {contact === "" ? null : <p data-contact>{contact}</p>}
      {scanner.found ? <Seen scanner={scanner} /> : null}
      {scanner.found || service.found ? null : <Unknown />}
      <NamedByVisitors ip={ip} />
      {service.found ? <BenignService service={service} /> : null}
      {scanner.found ? (
        <>
          <AddressTags ip={ip} tags={scanner.tags} />
          <AddressTimeline ip={ip} hasTags={scanner.tags.length > 0} lastSeen={scanner.last_seen_timestamp} />
          <Behavior raw={scanner.raw_data} />
          <Interaction ip={ip} />
          <CalledHosts ip={ip} />
          <Observations ip={ip} />
          <Sensors ip={ip} />
        </>
      ) : null}
      <Network ip={ip} metadata={scanner.metadata} />
      <Raw context={context} />
    </>
  );
}

function Seen({ scanner }: { readonly scanner: AddressContext["internet_scanner_intelligence"] }) {
  const { first_seen: first, last_seen_timestamp: last, metadata } = scanner;
  return (
    <dl class="facts">
      <div>
        <dt>Last seen</dt>
        <dd>
          {formatMinute(last)} <span class="faint">{formatAgo(last, Date.now())}</span>
        </dd>
      </div>
      <div>
        <dt>First seen</dt>
        <dd>{first}</dd>
      </div>
      {"sensor_hits" in metadata ? (
        <>
          <div>
            <dt>Observations</dt>
            <dd data-observations>{formatCount(metadata.sensor_hits)}</dd>
          </div>
          <div>
            <dt>Sensors</dt>
            <dd>{formatCount(metadata.sensor_count)}</dd>
          </div>
        </>
      ) : null}
    </dl>
  );
}

function Unknown() {
  return (
    <p class="notice">
      That says nothing good or bad about it. An address that contacts you and that these sensors do not know may mean
      you in particular.
    </p>
  );
}
