// Fan out, fan in: many pages are counted at once or a few at a time, and one sum comes back.

import { activity, NonRetryableError, orchestration } from "../../src/index.ts";

export interface Page {
  readonly title: string;
  readonly text: string;
}
export interface Count {
  readonly words: number;
  readonly pages: number;
  /** Pages that could not be counted, with the reason. */
  readonly skipped: readonly string[];
}

export const countWords = activity(
  "countWords",
  async (page: Page) => {
    if (page.text === "") throw new NonRetryableError(`"${page.title}" is empty`);
    return page.text.split(/\s+/).length;
  },
  { attempts: 3 },
);

/** Counts every page at once; the first failure cancels the others and fails the whole. */
export const countAll = orchestration("countAll", async (ctx, pages: readonly Page[]) => {
  const counts = await ctx.all(pages.map((page) => ctx.run(countWords, page)));
  return counts.reduce((sum, words) => sum + words, 0);
});

const LANES = 3;

/** Counts at most three pages at once, and leaves out a page that fails. */
export const countMany = orchestration(
  "countMany",
  async (ctx, pages: readonly Page[]): Promise<Count> => {
    const counts: number[] = [];
    const skipped: string[] = [];
    const left = [...pages];
    const lane = async (): Promise<void> => {
      for (let page = left.shift(); page !== undefined; page = left.shift()) {
        const [outcome] = await ctx.allSettled([ctx.run(countWords, page)]);
        if (outcome.status === "fulfilled") counts.push(outcome.value);
        else skipped.push(String((outcome.reason as Error).message));
      }
    };
    await ctx.all(Array.from({ length: LANES }, () => lane));
    return {
      words: counts.reduce((sum, words) => sum + words, 0),
      pages: counts.length,
      skipped: skipped.toSorted(),
    };
  },
);
