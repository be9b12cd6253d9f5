import type { ComponentChildren } from "preact";

type DownloadButtonProps = {
  /** Of the file. */
  readonly name: string;
  readonly type: string;
  readonly toText: () => string;
  readonly children: ComponentChildren;
};

/** Saves a text as a file, which the page itself makes: the key is no part of any URL. */
export function DownloadButton({ name, type, toText, children }: DownloadButtonProps) {
  const save = () => {
    const url = URL.createObjectURL(new Blob([toText()], { type }));
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <button type="button" class="quiet" onClick={save}>
      {children}
    </button>
  );
}
