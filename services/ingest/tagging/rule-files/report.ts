/** Collects what is wrong with one tag of a file. */
export type Report = {
  error(message: string): void;
  warning(message: string): void;
};
