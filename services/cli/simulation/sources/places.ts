import type { WireObservation } from "@noisefloor/domain/observation/schema.ts";

export type Place = Required<Pick<WireObservation, "region" | "city" | "latitude" | "longitude">>;

/** `region|city|latitude|longitude`: where most addresses of a country are, for sensors that know places. */
const PLACES: Readonly<Record<string, readonly string[]>> = {
  AE: ["Dubai|Dubai|25.2|55.3"],
  AR: ["Buenos Aires|Buenos Aires|-34.6|-58.4"],
  AU: ["New South Wales|Sydney|-33.9|151.2", "Victoria|Melbourne|-37.8|145"],
  BD: ["Dhaka|Dhaka|23.8|90.4"],
  BE: ["Brussels Capital|Brussels|50.9|4.4"],
  BG: ["Sofia-Capital|Sofia|42.7|23.3"],
  BR: ["Sao Paulo|Sao Paulo|-23.6|-46.6", "Rio de Janeiro|Rio de Janeiro|-22.9|-43.2", "Parana|Curitiba|-25.4|-49.3"],
  CA: ["Ontario|Toronto|43.7|-79.4", "Quebec|Montreal|45.5|-73.6"],
  CL: ["Santiago Metropolitan|Santiago|-33.4|-70.7"],
  CN: [
    "Beijing|Beijing|39.9|116.4",
    "Shanghai|Shanghai|31.2|121.5",
    "Guangdong|Shenzhen|22.5|114.1",
    "Zhejiang|Hangzhou|30.3|120.2",
    "Jiangsu|Nanjing|32.1|118.8",
  ],
  CO: ["Bogota D.C.|Bogota|4.7|-74.1"],
  CZ: ["Prague|Prague|50.1|14.4"],
  DE: ["Hesse|Frankfurt am Main|50.1|8.7", "Bavaria|Nuremberg|49.5|11.1", "Berlin|Berlin|52.5|13.4"],
  EG: ["Cairo|Cairo|30|31.2"],
  ES: ["Madrid|Madrid|40.4|-3.7"],
  FR: ["Ile-de-France|Paris|48.9|2.4", "Hauts-de-France|Roubaix|50.7|3.2"],
  GB: ["England|London|51.5|-0.1", "England|Manchester|53.5|-2.2"],
  HK: ["Central and Western|Hong Kong|22.3|114.2"],
  HU: ["Budapest|Budapest|47.5|19"],
  ID: ["Jakarta|Jakarta|-6.2|106.8"],
  IE: ["Leinster|Dublin|53.3|-6.3"],
  IN: ["Maharashtra|Mumbai|19.1|72.9", "Karnataka|Bengaluru|13|77.6", "Delhi|Delhi|28.7|77.1"],
  IR: ["Tehran|Tehran|35.7|51.4"],
  IT: ["Lombardy|Milan|45.5|9.2", "Lazio|Rome|41.9|12.5"],
  JP: ["Tokyo|Tokyo|35.7|139.7", "Osaka|Osaka|34.7|135.5"],
  KR: ["Seoul|Seoul|37.6|127"],
  MX: ["Mexico City|Mexico City|19.4|-99.1"],
  MY: ["Kuala Lumpur|Kuala Lumpur|3.1|101.7"],
  NL: ["North Holland|Amsterdam|52.4|4.9"],
  PH: ["Metro Manila|Manila|14.6|121"],
  PK: ["Punjab|Lahore|31.5|74.3"],
  PL: ["Mazovia|Warsaw|52.2|21"],
  PT: ["Lisbon|Lisbon|38.7|-9.1"],
  RO: ["Bucharest|Bucharest|44.4|26.1"],
  RU: ["Moscow|Moscow|55.8|37.6", "Saint Petersburg|Saint Petersburg|59.9|30.3"],
  SE: ["Stockholm|Stockholm|59.3|18.1"],
  SG: ["Singapore|Singapore|1.3|103.8"],
  TH: ["Bangkok|Bangkok|13.8|100.5"],
  TR: ["Istanbul|Istanbul|41|29"],
  TW: ["Taipei|Taipei|25|121.5"],
  UA: ["Kyiv City|Kyiv|50.5|30.5"],
  US: [
    "California|Santa Clara|37.4|-122",
    "New Jersey|Clifton|40.9|-74.2",
    "Virginia|Ashburn|39|-77.5",
    "Texas|Dallas|32.8|-96.8",
  ],
  VE: ["Capital District|Caracas|10.5|-66.9"],
  VN: ["Hanoi|Hanoi|21|105.9", "Ho Chi Minh City|Ho Chi Minh City|10.8|106.7"],
  ZA: ["Gauteng|Johannesburg|-26.2|28"],
};

const KNOWN = new Map(Object.entries(PLACES).map(([country, lines]) => [country, lines.map(parsePlace)]));

function parsePlace(line: string): Place {
  const [region = "", city = "", latitude, longitude] = line.split("|");
  return { region, city, latitude: Number(latitude), longitude: Number(longitude) };
}

/** @param number chooses among the places of the country. @returns undefined for a country without known places. */
export function placeIn(country: string, number: number): Place | undefined {
  const places = KNOWN.get(country) ?? [];
  return places[number % places.length];
}
