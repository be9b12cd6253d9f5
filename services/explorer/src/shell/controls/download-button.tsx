import type { ComponentChildren } from "preact";
import { saveFile } from "../save-file.ts";

type DownloadButtonProps = {
  /** The file's name. */
  readonly name: string;
  readonly type: string;
  readonly toText: () => string;
  readonly children: ComponentChildren;
};

/** Saves a text as a file. */
export function DownloadButton({ name, type, toText, children }: DownloadButtonProps) {
  const save = () => saveFile(name, new Blob([toText()], { type }));
  return (
    <button type="button" class="quiet" onClick={save}>
      {children}
    </button>
  );
}
