/** Why a rule cannot be said in ours. */
export class CrowdsecError extends Error {
  override name = "CrowdsecError";
}
