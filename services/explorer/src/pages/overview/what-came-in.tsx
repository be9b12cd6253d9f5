import {
  statsByClassification,
  statsByCountry,
  statsByHour,
  statsByNetwork,
  statsByObservation,
  tagSummary,
} from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { BarList } from "../../charts/bar-list.tsx";
import { Split } from "../../charts/split.tsx";
import { Loaded } from "../../faults/loaded.tsx";
import { asnPath, countryPath, searchPath } from "../../routing/paths.ts";
import { ValueLink } from "../../search/value-search.tsx";
import { formatMinute, plural } from "../../text/format.ts";
import { Hostile } from "../../text/hostile.tsx";
import { Hours } from "./hours.tsx";
import { TagChanges } from "./tag-changes.tsx";

const PLACES = 10;
const TAGS = 15;
const ADDRESSES = { heading: "Addresses", caption: "Distinct addresses in each hour" } as const;
const OBSERVATIONS = { heading: "Observations", caption: "Distinct observations in each hour" } as const;

/** The addresses of the last days: when, what and from where. */
export function WhatCameIn({ days }: { readonly days: number }) {
  const hours = useAnswer(statsByHour(days));
  const observations = useAnswer(statsByObservation(days));
  const classes = useAnswer(statsByClassification(days));
  const tags = useAnswer(tagSummary(days, TAGS, "active"));
  const networks = useAnswer(statsByNetwork(days, PLACES));
  const countries = useAnswer(statsByCountry(days, PLACES));
  return (
    <div class="grid">
      <section class="wide" aria-labelledby="hours">
        <h3 id="hours">Addresses by hour</h3>
        <Loaded of={hours} what="the hours">
          {({ hours, metadata }) => (
            <Hours
              what={ADDRESSES}
              hours={hours.map(({ active_ips: count, ...hour }) => ({ ...hour, count }))}
              end={metadata.end_date}
            />
          )}
        </Loaded>
      </section>
      <section class="wide" aria-labelledby="observations">
        <h3 id="observations">Observations by hour</h3>
        <Loaded of={observations} what="the observations">
          {({ hours, metadata }) => (
            <Hours
              what={OBSERVATIONS}
              hours={hours.map(({ observations: count, ...hour }) => ({ ...hour, count }))}
              end={metadata.end_date}
            />
          )}
        </Loaded>
      </section>
      <section class="wide" aria-labelledby="classes">
        <h3 id="classes">Classification</h3>
        <Loaded of={classes} what="the classifications">
          {({ classifications, total_ips: total, metadata: { start_date: start } }) => (
            <>
              <p>
                <strong data-total>{plural(total, "address", "addresses")}</strong> seen scanning since{" "}
                {formatMinute(start)} UTC, by everything that is stored of them.
              </p>
              <Split
                total={total}
                pathOf={(classification) => searchPath(`classification:${classification} last_seen:>=${start}`)}
                parts={classifications.map(({ classification, active_ips: addresses }) => ({
                  classification,
                  addresses,
                }))}
              />
            </>
          )}
        </Loaded>
      </section>
      <section class="wide" aria-labelledby="tags">
        <h3 id="tags">Most active tags</h3>
        <Loaded of={tags} what="the tags">
          {({ tags }) => (
            <TagChanges label="Most active tags" tags={tags} whenEmpty="No tag was active in this period." />
          )}
        </Loaded>
      </section>
      <section aria-labelledby="networks">
        <h3 id="networks">Networks</h3>
        <Loaded of={networks} what="the networks">
          {(data) => (
            <BarList
              caption="Networks with the most addresses"
              nameHeading="Network"
              whenEmpty="No observation of this period names a network."
              total={data.total_ips}
              rows={data.networks.map(({ asn, organization, active_ips: value }) => ({
                key: asn,
                sortName: organization,
                name: (
                  <>
                    <a href={asnPath(asn)}>{asn}</a> <ValueLink field="organization" value={organization} />
                  </>
                ),
                value,
              }))}
            />
          )}
        </Loaded>
      </section>
      <section aria-labelledby="countries">
        <h3 id="countries">Countries</h3>
        <Loaded of={countries} what="the countries">
          {(data) => (
            <BarList
              caption="Countries with the most addresses"
              nameHeading="Country"
              whenEmpty="No observation of this period names a country."
              total={data.total_ips}
              rows={data.countries.map(({ country, country_code: code, active_ips: value }) => ({
                key: code,
                sortName: country === "" ? code : country,
                name: (
                  <a href={countryPath(code)}>
                    <Hostile text={country === "" ? code : country} />
                  </a>
                ),
                value,
              }))}
            />
          )}
        </Loaded>
      </section>
    </div>
  );
}
