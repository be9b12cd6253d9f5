import { addressPath } from "../routing/paths.ts";
import { ScrollRegion } from "../shell/scroll-region.tsx";
import { formatMinute } from "../text/format.ts";
import { useSorted } from "./use-sorted.tsx";

type LatestAddressesProps = {
  readonly caption: string;
  /** What the time of an address is. */
  readonly heading: string;
  readonly addresses: readonly { readonly ip: string; readonly time: string }[];
  readonly isTall?: boolean;
};

/** Addresses with a time each. */
export function LatestAddresses({ caption, heading, addresses, isTall = false }: LatestAddressesProps) {
  const { sorted, head } = useSorted(addresses, [
    { heading: "Address", by: ({ ip }) => ip },
    { heading, by: ({ time }) => time },
  ]);
  return (
    <ScrollRegion label={caption} isTall={isTall}>
      <table>
        <caption class="hidden">{caption}</caption>
        {head}
        <tbody>
          {sorted.map(({ ip, time }) => (
            <tr key={ip}>
              <th scope="row">
                <a href={addressPath(ip)}>{ip}</a>
              </th>
              <td class="when">{formatMinute(time)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}
