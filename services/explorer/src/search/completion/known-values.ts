import { fieldAt, type KnownValue, type KnownValues } from "@noisefloor/domain/query-language/completion/complete.ts";
import { useKey } from "../../api/kept-key.ts";
import { allSensors, allTags, statsByCountry } from "../../api/questions.ts";
import { useAnswer } from "../../api/use-answer.ts";

const COUNTRY_DAYS = 7;
const MAX_COUNTRIES = 250;

/** The values of the field at the cursor that the service knows, each list asked for when it is first needed. */
export function useKnownValues(text: string, cursor: number): KnownValues {
  const { key } = useKey();
  const field = fieldAt(text, cursor);
  const isOfTags = field === "tag" || field === "cve";
  const isOfCountries = field === "country" || field === "country_code";
  const tags = useAnswer(isOfTags ? allTags() : undefined).data?.tags ?? [];
  const countries = useAnswer(isOfCountries ? statsByCountry(COUNTRY_DAYS, MAX_COUNTRIES) : undefined);
  const sensors = useAnswer(field === "sensor" && key !== "" ? allSensors() : undefined);
  return (of) => {
    switch (of) {
      case "tag":
        return tags.map(({ slug, name }) => ({ value: slug, name }));
      case "cve":
        return named(tags.flatMap(({ cves }) => cves));
      case "country":
      case "country_code":
        return countries.data?.countries.map(({ country_code: value, country: name }) => ({ value, name }));
      case "sensor":
        return named(sensors.data?.sensors.map(({ sensor_id: id }) => id) ?? []);
      default:
        return undefined;
    }
  };
}

const named = (values: readonly string[]): KnownValue[] =>
  [...new Set(values)].sort().map((value) => ({ value, name: "" }));
