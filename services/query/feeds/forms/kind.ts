import type { HostList } from "@noisefloor/domain/feeds/address-changes.ts";
import type { Parameter } from "@noisefloor/http/requests/parameters.ts";
import { z } from "zod";

type Kind = "address" | "name";

export const KIND: Parameter<Kind | undefined> = {
  name: "kind",
  description:
    "Only the addresses, or only the names, of a feed of callbacks. By default `txt` has both, and `dataset` the names.",
  schema: z.enum(["address", "name"]).optional(),
  takes: "address or name",
  describedBy: "output",
  example: "address",
};

type Hosts = Pick<HostList, "addresses" | "names">;

/** The hosts of a kind; undefined for all. */
export const ofKind = ({ addresses, names }: Hosts, kind: Kind | undefined): Hosts => ({
  addresses: kind === "name" ? new Uint32Array() : addresses,
  names: kind === "address" ? [] : names,
});
