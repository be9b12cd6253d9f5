import { dirname, join } from "node:path";
import { installPython } from "../support/programs.ts";

/** Clients of threat platforms, and readers of files. @returns the Python that has them. */
export const installFeedClients = (): Promise<string> =>
  installPython("feed-clients-2026.11", ["taxii2-client==2.3.0", "stix2==3.0.2", "pymisp==2.5.34", "maxminddb==3.2.0"]);

/** MISP's converter of STIX, which asks for another release of PyMISP. @returns its command. */
export async function installStixConverter(): Promise<string> {
  const python = await installPython("misp-stix-2026.10.12", ["misp-stix==2026.10.12"]);
  return join(dirname(python), "misp_stix_converter");
}
