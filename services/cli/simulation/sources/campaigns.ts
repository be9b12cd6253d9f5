import { DAY_MS } from "@noisefloor/domain/time/window.ts";
import { chance, mix, pick, type Random, seededRandom } from "../random.ts";
import type { Content } from "./content.ts";
import type { Example } from "./examples.ts";
import type { Networks } from "./networks.ts";
import { type Source, sourceIn } from "./sources.ts";

/** What campaigns spread with: the flaw that is in fashion, by the slug of its tag. */
const THEMES = [
  ...["react-server-components-rce-attempt", "sharepoint-toolshell-attempt", "php-cgi-argument-injection-2024"],
  ...["tbk-dvr-rce-attempt", "ivanti-connect-secure-rce-attempt", "gpon-exploit", "langflow-rce-attempt", "redtail"],
  ...["geoserver-rce-attempt", "mozi", "four-faith-router-rce-attempt", "totolink-rce-attempt", "citrix-bleed-attempt"],
  ...["wsus-rce-attempt", "adb-worm", "apache-log4j-rce-attempt", "netgear-setup-cgi-rce-attempt"],
];

/** Campaigns begin about so often, last for 4 to 14 days, and at most have 1 to 6 % of all observations. */
const EVERY = 2 * DAY_MS;
const SHORTEST = 4 * DAY_MS;
const LONGEST = 14 * DAY_MS;
const HOMES = ["CN", "BR", "IN", "VN", "TW", "US", "RU", "ID", "KR", "TR", "TH", "MX", "EG", "UA"];

type Campaign = {
  readonly number: number;
  readonly start: number;
  readonly lasts: number;
  readonly peak: number;
  readonly countries: readonly string[];
  readonly contents: readonly Content[];
  /** Its machines that were drawn before, by their index. */
  readonly machines: Map<number, Source>;
};

export type Campaigns = {
  /** The share of each campaign in all observations at a time. */
  sharesAt(time: number): readonly { readonly campaign: Campaign; readonly share: number }[];
  /** Draws one of the machines that a campaign has taken over by then: the more, the further it has spread. */
  source(campaign: Campaign, time: number, random: Random): Source;
};

export type CampaignsOptions = {
  readonly seed: number;
  /** The most machines of one campaign. */
  readonly sources: number;
  readonly networks: Networks;
  readonly examples: readonly Example[];
};

export function openCampaigns({ seed, sources, networks, examples }: CampaignsOptions): Campaigns {
  const themes = THEMES.map((slug) =>
    examples.filter((example) => example.slug === slug).map(({ content }) => content),
  );
  const usable = themes.filter((contents) => contents.length > 0);
  const made = new Map<number, Campaign>();
  const campaignOf = (number: number): Campaign => {
    const known = made.get(number);
    if (known !== undefined) return known;
    const random = seededRandom(mix(seed, number, 11));
    const campaign = {
      number,
      start: (number + random()) * EVERY,
      lasts: SHORTEST + random() * (LONGEST - SHORTEST),
      peak: 0.01 + 0.05 * random() ** 2,
      countries: Array.from({ length: 3 }, () => pick(HOMES, random())),
      contents: pick(usable, random()),
      machines: new Map<number, Source>(),
    };
    made.set(number, campaign);
    return campaign;
  };
  return {
    sharesAt(time) {
      const latest = Math.floor(time / EVERY);
      const first = latest - Math.ceil(LONGEST / EVERY) - 1;
      return Array.from({ length: latest - first + 1 }, (_, index) => campaignOf(first + index))
        .map((campaign) => ({ campaign, share: campaign.peak * activity(progressOf(campaign, time)) }))
        .filter(({ share }) => share > 0);
    },
    source(campaign, time, random) {
      const machines = Math.max(3, sources * campaign.peak * 4 * spread(progressOf(campaign, time)));
      const index = Math.floor(machines * random() ** 1.5);
      const known = campaign.machines.get(index);
      if (known !== undefined) return known;
      const number = mix(seed, campaign.number, index, 12);
      const country = pick(campaign.countries, chance(number, 1));
      const block = networks.drawHome(country, seededRandom(number));
      const source = sourceIn(block, number, { contents: campaign.contents, isZmap: false });
      campaign.machines.set(index, source);
      return source;
    },
  };
}

const progressOf = ({ start, lasts }: Campaign, time: number) => (time - start) / lasts;

const RISE = 0.3;

/** From 0 at the start to 1 at {@link RISE}, and down to nothing at the end. */
function activity(progress: number): number {
  if (progress <= 0 || progress >= 1) return 0;
  if (progress < RISE) return (progress / RISE) ** 2 * (3 - (2 * progress) / RISE);
  return Math.exp(-4 * (progress - RISE)) * (1 - ((progress - RISE) / (1 - RISE)) ** 4);
}

/** How many machines it has by then, of all that it ever has: most join while it rises. */
const spread = (progress: number) => Math.min(1, (progress / (RISE * 1.5)) ** 2);
