/** What is searched for: a text anywhere, at the start or at the end. */
export type Pattern = {
  readonly text: string;
  readonly place: "anywhere" | "start" | "end";
  /** Reported when it is found; not negative. */
  readonly id: number;
};

export type Automaton = {
  /**
   * Reads a text once and reports the patterns that it holds: each at least once, and those that stand anywhere at
   * most once for all texts of the same event.
   * @param event a number that no earlier event has had, at least 1.
   */
  scan(text: string, event: number, report: (id: number) => void): void;
  readonly states: number;
};

const NONE = -1;
/** Transitions from the root are looked up, as most characters of a text lead back to it. */
const ROOT_TABLE = 256;

/**
 * An Aho-Corasick automaton: the time to read a text does not depend on the number of patterns. States are numbered
 * breadth first, so the children of a state have successive numbers and are found by their labels alone, without a
 * table of all transitions.
 * @param patterns of which no two have both text and place in common.
 */
export function buildAutomaton(patterns: readonly Pattern[]): Automaton {
  const { firstChild, label, depth, own, states } = buildTrie(patterns);
  const fail = new Int32Array(states);
  /** The state itself or the nearest one on its chain of failures that ends a pattern of that place; 0: none. */
  const anywhere = new Int32Array(states);
  const end = new Int32Array(states);
  const seen = new Float64Array(states);

  const child = (state: number, code: number): number => {
    let low = firstChild[state] ?? 0;
    let high = (firstChild[state + 1] ?? 0) - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const middleCode = label[middle] ?? 0;
      if (middleCode === code) return middle;
      if (middleCode < code) low = middle + 1;
      else high = middle - 1;
    }
    return NONE;
  };
  const root = Int32Array.from({ length: ROOT_TABLE }, (_, code) => Math.max(0, child(0, code)));
  const step = (from: number, code: number): number => {
    let state = from;
    while (state !== 0) {
      const next = child(state, code);
      if (next !== NONE) return next;
      state = fail[state] ?? 0;
    }
    return code < ROOT_TABLE ? (root[code] ?? 0) : Math.max(0, child(0, code));
  };

  // Parents come before their children, and whatever a state falls back to is less deep.
  for (let state = 0; state < states; state++) {
    const from = fail[state] ?? 0;
    anywhere[state] = own.anywhere[state] === NONE ? (anywhere[from] ?? 0) : state;
    end[state] = own.end[state] === NONE ? (end[from] ?? 0) : state;
    for (let next = firstChild[state] ?? 0; next < (firstChild[state + 1] ?? 0); next++) {
      fail[next] = state === 0 ? 0 : step(from, label[next] ?? 0);
    }
  }

  return {
    states,
    scan(text, event, report) {
      let state = 0;
      for (let index = 0; index < text.length; index++) {
        state = step(state, text.charCodeAt(index));
        if (state === 0) continue;
        // A state that was seen has reported its chain. Else a text of one letter would have it walked for each letter.
        for (let hit = anywhere[state] ?? 0; hit !== 0 && seen[hit] !== event; hit = anywhere[fail[hit] ?? 0] ?? 0) {
          seen[hit] = event;
          report(own.anywhere[hit] ?? 0);
        }
        if (depth[state] === index + 1) {
          const id = own.start[state] ?? NONE;
          if (id !== NONE) report(id);
        }
      }
      for (let hit = end[state] ?? 0; hit !== 0; hit = end[fail[hit] ?? 0] ?? 0) report(own.end[hit] ?? 0);
    },
  };
}

type Trie = {
  readonly states: number;
  /** By state, and one more entry at the end: where its children begin. They end where those of the next state begin. */
  readonly firstChild: Int32Array;
  /** The code unit that leads to a state from its parent. */
  readonly label: Uint16Array;
  readonly depth: Int32Array;
  /** The id of the pattern of each place that ends in a state. */
  readonly own: Readonly<Record<Pattern["place"], Int32Array>>;
};

/** Sorted texts with a common beginning are neighbours: a state is a range of them, and its children divide it. */
function buildTrie(patterns: readonly Pattern[]): Trie {
  const idsByText = new Map<string, Partial<Record<Pattern["place"], number>>>();
  for (const { text, place, id } of patterns) {
    const ids = idsByText.get(text) ?? {};
    ids[place] = id;
    idsByText.set(text, ids);
  }
  // By code units, which is how < compares.
  const texts = [...idsByText.keys()].sort((one, other) => (one < other ? -1 : 1));
  const maxStates = texts.reduce((sum, text) => sum + text.length, 1);
  const firstChild = new Int32Array(maxStates + 1);
  const label = new Uint16Array(maxStates);
  const depth = new Int32Array(maxStates);
  const from = new Int32Array(maxStates);
  const to = new Int32Array(maxStates);
  const own = {
    anywhere: new Int32Array(maxStates).fill(NONE),
    start: new Int32Array(maxStates).fill(NONE),
    end: new Int32Array(maxStates).fill(NONE),
  };
  let states = 1;
  to[0] = texts.length;
  for (let state = 0; state < states; state++) {
    const length = depth[state] ?? 0;
    let at = from[state] ?? 0;
    const last = to[state] ?? 0;
    const whole = texts[at];
    if (at < last && whole !== undefined && whole.length === length) {
      const ids = idsByText.get(whole);
      own.anywhere[state] = ids?.anywhere ?? NONE;
      own.start[state] = ids?.start ?? NONE;
      own.end[state] = ids?.end ?? NONE;
      at++;
    }
    firstChild[state] = states;
    while (at < last) {
      const code = texts[at]?.charCodeAt(length) ?? 0;
      const start = at;
      while (at < last && texts[at]?.charCodeAt(length) === code) at++;
      label[states] = code;
      depth[states] = length + 1;
      from[states] = start;
      to[states] = at;
      states++;
    }
  }
  firstChild[states] = states;
  return {
    states,
    firstChild: firstChild.slice(0, states + 1),
    label: label.slice(0, states),
    depth: depth.slice(0, states),
    own: {
      anywhere: own.anywhere.slice(0, states),
      start: own.start.slice(0, states),
      end: own.end.slice(0, states),
    },
  };
}
