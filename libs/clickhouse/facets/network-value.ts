/** SQL: the parts of a `value` of the facet `network`. */
export const NETWORK_ASN = "toUInt32(substring(value, 1, 10))";
export const NETWORK_ORGANIZATION = "substring(value, 12)";

/** What the values of `network` with a number begin with. */
export const networkPrefix = (asn: number) => `${String(asn).padStart(10, "0")} `;
