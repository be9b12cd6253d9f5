/** The media types of files by the end of their names: all that is known of most, as their content is not looked at. */
const TYPE_OF_EXTENSION: Readonly<Record<string, string>> = {
  ...{ sh: "text/x-shellscript", bash: "text/x-shellscript", py: "text/x-python", pl: "text/x-perl" },
  ...{ php: "text/x-php", ps1: "text/x-powershell", bat: "application/x-bat", vbs: "text/vbscript" },
  ...{ exe: "application/x-dosexec", dll: "application/x-dosexec", msi: "application/x-msi" },
  ...{ elf: "application/x-executable", x86: "application/x-executable", x86_64: "application/x-executable" },
  ...{ x64: "application/x-executable", i686: "application/x-executable", mips: "application/x-executable" },
  ...{ mpsl: "application/x-executable", mipsel: "application/x-executable", arm: "application/x-executable" },
  ...{ arm4: "application/x-executable", arm5: "application/x-executable", arm6: "application/x-executable" },
  ...{ arm7: "application/x-executable", arm64: "application/x-executable", ppc: "application/x-executable" },
  ...{ sh4: "application/x-executable", m68k: "application/x-executable", spc: "application/x-executable" },
  ...{ jar: "application/java-archive", class: "application/java-vm", apk: "application/vnd.android.package-archive" },
  ...{ zip: "application/zip", gz: "application/gzip", tgz: "application/gzip", tar: "application/x-tar" },
  ...{ txt: "text/plain", html: "text/html", xml: "application/xml", js: "text/javascript" },
};

/** The media type of a file; empty where its name does not say one. */
export function typeOfFile(name: string): string {
  const extension = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  return Object.hasOwn(TYPE_OF_EXTENSION, extension) ? (TYPE_OF_EXTENSION[extension] ?? "") : "";
}

/** The ends of names of files with a media type. */
export const extensionsOf = (type: string): readonly string[] =>
  Object.entries(TYPE_OF_EXTENSION).flatMap(([extension, known]) => (known === type ? [extension] : []));
