export type CloseStack = {
  add(close: () => unknown): void;
  /** Closes what was added, the last first: a part uses only parts that were opened before it. */
  closeAll(): Promise<void>;
};

export function createCloseStack(): CloseStack {
  const stack: (() => unknown)[] = [];
  return {
    add: (close) => void stack.push(close),
    async closeAll() {
      for (const close of stack.splice(0).reverse()) await close();
    },
  };
}
