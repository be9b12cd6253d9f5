/** Bits of a TCP header. */
export const FIN = 0x01;
export const SYN = 0x02;
export const RST = 0x04;
export const PSH = 0x08;
export const ACK = 0x10;
export const URG = 0x20;

/**
 * Whether packets with these flags together only answer: a SYN-ACK, or RST or FIN without a SYN. FIN with PSH and URG
 * is a scan, and ACK or no flag at all may be one.
 * @param packets how many packets the flags are of: a SYN and an ACK of two packets look like one SYN-ACK
 */
export function isTcpAnswer(flags: number, packets = 1): boolean {
  if ((flags & SYN) !== 0) return (flags & ACK) !== 0 && packets === 1;
  if ((flags & RST) !== 0) return true;
  return (flags & FIN) !== 0 && (flags & (PSH | URG)) === 0;
}
