import { type KnownValue, type KnownValues, valueAt } from "@noisefloor/domain/query-language/completion/complete.ts";
import { useKey } from "../../api/kept-key.ts";
import { allSensors, allTags, statsByCountry } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";
import { useCounts } from "./use-counts.ts";
import { withoutCondition } from "./without-condition.ts";

const COUNTRY_DAYS = 7;
const MAX_COUNTRIES = 250;

/**
 * The values of the field at the cursor that the service knows, those of the most addresses first. Each list is asked for
 * when it is first needed. Counts are among the addresses that the rest of the query matches.
 * @param days how many days back counts reach; empty for all that is stored.
 */
export function useKnownValues(text: string, cursor: number, days: string): KnownValues {
  const { key } = useKey();
  const value = valueAt(text, cursor);
  const field = value?.field;
  const isOfTags = field === "tag" || field === "cve";
  const isOfCountries = field === "country" || field === "country_code";
  const tags = useAnswer(isOfTags ? allTags() : undefined).data?.tags ?? [];
  const countries =
    useAnswer(isOfCountries ? statsByCountry(COUNTRY_DAYS, MAX_COUNTRIES) : undefined).data?.countries ?? [];
  const sensors = useAnswer(field === "sensor" && key !== "" ? allSensors() : undefined).data?.sensors ?? [];
  const counts = useCounts(field, value === undefined ? "" : withoutCondition(text, value), days);
  const withCount = (value: string, name: string, counted: string): KnownValue => ({
    value,
    name,
    count: counts?.countOf(counted),
  });
  return (of) => {
    switch (of) {
      case "tag":
        return mostFirst(tags.map(({ id, slug, name }) => withCount(slug, name, id)));
      case "cve":
        return named(tags.flatMap(({ cves }) => cves));
      case "country":
      case "country_code":
        return mostFirst(countries.map(({ country_code: code, country }) => withCount(code, country, country)));
      case "sensor":
        return named(sensors.map(({ sensor_id: id }) => id));
      default:
        return counts?.values;
    }
  };
}

const named = (values: readonly string[]): KnownValue[] =>
  [...new Set(values)].sort().map((value) => ({ value, name: "" }));

/** Those of the same number stay in their order. */
const mostFirst = (values: readonly KnownValue[]) =>
  values.toSorted((one, other) => (other.count ?? 0) - (one.count ?? 0));
