/** The first language that `Intl` takes, English if it takes none. @param languages as the browser names them. */
export function usableLanguage(languages: readonly string[]): string {
  return languages.find(isUsable) ?? "en";
}

function isUsable(language: string): boolean {
  try {
    return Intl.getCanonicalLocales(language).length === 1;
  } catch {
    // Chromium under LANG=C names `en-US@posix`.
    return false;
  }
}

/** For the charts' library: it makes formats of `navigator.language` as it loads, and fails if `Intl` does not take it. */
export function provideUsableLanguage(browser: Navigator): void {
  if (isUsable(browser.language)) return;
  Object.defineProperty(browser, "language", { value: usableLanguage(browser.languages), configurable: true });
}
