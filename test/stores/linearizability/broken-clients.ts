// Broken clients: stores whose errors are visible only with concurrent or repeated calls.

import type { Provider } from "../../../src/core/provider/index.ts";
import { ignoresTokens, replaceMethods, type Breakage } from "../conformance/broken-provider.ts";

/** Answers every other read from a stale copy. */
const answersFromStaleCopy: Breakage = (real) => {
  const copies = new Map<string, Awaited<ReturnType<Provider["readInstance"]>>>();
  let reads = 0;
  return {
    async readInstance(id) {
      const copy = copies.get(id);
      if (copy !== undefined && (reads += 1) % 2 === 1) return copy;
      const record = await real.readInstance(id);
      copies.set(id, record);
      return record;
    },
  };
};

/** Checks whether an id is free and replaces any instance that took the id in the meantime. */
const checksBeforeItStarts: Breakage = (real) => ({
  async commit(items) {
    const [item] = items;
    if (item?.kind !== "start" || item.onConflict !== "fail") return real.commit(items);
    if ((await real.readInstance(item.id)) !== null) return real.commit(items);
    await new Promise((resolve) => setImmediate(resolve));
    return real.commit([{ ...item, onConflict: "terminateExisting" }]);
  },
});

export const BREAKAGES = { answersFromStaleCopy, checksBeforeItStarts, ignoresTokens } as const;
export type BreakageName = keyof typeof BREAKAGES;

export function breaking(provider: Provider, name: BreakageName | undefined): Provider {
  return name === undefined ? provider : replaceMethods(provider, BREAKAGES[name](provider));
}
