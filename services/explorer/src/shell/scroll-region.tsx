import type { ComponentChildren } from "preact";

type ScrollRegionProps = { readonly label: string; readonly isTall?: boolean; readonly children: ComponentChildren };

/** Wide or tall content that scrolls in its own place, also with the keyboard. */
export function ScrollRegion({ label, isTall = false, children }: ScrollRegionProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it keyboards could not scroll in every browser
    <section class={`scroll${isTall ? " tall" : ""}`} aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
