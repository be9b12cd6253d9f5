import { useRoute } from "preact-iso";
import type { AddressesOfCountry, AddressesOfNetwork } from "../../api/operations.ts";
import { addressesOfCountry, addressesOfNetwork } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { Loaded } from "../../faults/loaded.tsx";
import { usePageTitle } from "../../frame/layout.tsx";
import { oneOf, useParameters } from "../../routing/use-parameters.ts";
import { SearchLink } from "../../search/value-search.tsx";
import { Clamped } from "../../shell/clamped.tsx";
import { LimitChoice } from "../../shell/controls/limit-choice.tsx";
import { PeriodChoice } from "../../shell/controls/period-choice.tsx";
import { LatestAddresses } from "../../table/latest-addresses.tsx";
import { formatCount, plural } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";

const DAYS = ["1", "7", "30", "90"] as const;
const LIMITS = ["100", "1000"] as const;

/** `/asns/{asn}`: the addresses that were seen in a network. */
export function NetworkOfAsnPage() {
  const { asn = "" } = useRoute().params;
  usePageTitle(asn);
  const { days, limit, choices } = useChoices("asn", asn);
  const network = useAnswer(addressesOfNetwork(asn, days, limit));
  return (
    <>
      <h1>
        <Hostile text={`${asn} ${network.data?.organization ?? ""}`} />
      </h1>
      {choices}
      <Loaded of={network} what="the addresses">
        {(data) => <Addresses days={days} {...data} />}
      </Loaded>
    </>
  );
}

/** `/countries/{code}`: the addresses that were seen in a country. */
export function CountryPage() {
  const { country: code = "" } = useRoute().params;
  const { days, limit, choices } = useChoices("country_code", code);
  const country = useAnswer(addressesOfCountry(code, days, limit));
  const name = country.data?.country === "" ? code : (country.data?.country ?? code);
  usePageTitle(name);
  return (
    <>
      <h1>
        <Hostile text={name} />
      </h1>
      {choices}
      <Loaded of={country} what="the addresses">
        {(data) => <Addresses days={days} {...data} />}
      </Loaded>
    </>
  );
}

function useChoices(field: "asn" | "country_code", value: string) {
  const { values, set } = useParameters({ days: "1", limit: "100" });
  const days = oneOf(DAYS, values.days, "1");
  const limit = oneOf(LIMITS, values.limit, "100");
  const choices = (
    <div class="bar-of-choices">
      <h2>Addresses seen scanning</h2>
      <SearchLink field={field} value={value} days={days} />
      <PeriodChoice days={DAYS} value={days} onChoose={(chosen) => set({ days: chosen })} />
      <LimitChoice limits={LIMITS} value={limit} onChoose={(chosen) => set({ limit: chosen })} />
    </div>
  );
  return { days: Number(days), limit: Number(limit), choices };
}

type AddressesProps = Pick<AddressesOfNetwork | AddressesOfCountry, "ips" | "total_ips" | "metadata"> & {
  readonly days: number;
};

function Addresses({ ips, total_ips: total, metadata, days }: AddressesProps) {
  return (
    <section>
      <Clamped days={days} start={metadata.start_date} end={metadata.end_date} />
      {total === 0 ? (
        <p class="empty">None of its addresses was seen in this period.</p>
      ) : (
        <>
          <p data-listed>
            {ips.length === total
              ? `All ${plural(total, "address", "addresses")}.`
              : `The latest ${formatCount(ips.length)} of ${plural(total, "address", "addresses")}.`}
          </p>
          <LatestAddresses
            caption="Addresses seen scanning"
            heading="Last seen"
            addresses={ips.map(({ ip, last_seen: time }) => ({ ip, time }))}
          />
        </>
      )}
    </section>
  );
}
