import { cut, showInvisible } from "@noisefloor/domain/text/show-invisible.ts";
import { webUrl } from "@noisefloor/domain/text/web-url.ts";

const MAX_CHARACTERS = 300;

/** A text of a sensor, tag or list, which anyone may have written: it is shown without an effect on the text around it. */
export function Hostile({ text }: { readonly text: string }) {
  return <bdi>{visible(text)}</bdi>;
}

/** Lines for a `pre`, whole, each as it is. */
export function HostileLines({ lines }: { readonly lines: readonly string[] }) {
  return lines.map((line) => (
    <>
      <bdi>{showInvisible(line)}</bdi>
      {"\n"}
    </>
  ));
}

/** The same for places that take no markup. */
export function visible(text: string): string {
  return showInvisible(cut(text.trim(), MAX_CHARACTERS));
}

/** The same with its line breaks taken for spaces. */
export function Prose({ text }: { readonly text: string }) {
  return <Hostile text={text.replace(/\s+/g, " ")} />;
}

export function Reference({ text }: { readonly text: string }) {
  const url = webUrl(text);
  if (url === undefined) return <Hostile text={text} />;
  return (
    <a href={url} rel="noreferrer noopener nofollow" target="_blank">
      <Hostile text={text} />
    </a>
  );
}
