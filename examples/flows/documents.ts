// A document pipeline: many documents, two at a time. Each is rewritten until it is short enough. A document that fails
// does not stop the others.

import { again, done, flow } from "../../src/flow/index.ts";

interface Draft {
  readonly name: string;
  readonly words: number;
  readonly rounds: number;
}

const WORDS_MAX = 100;

export const pipeline = flow<readonly string[]>("pipeline")
  .map(
    "documents",
    (names) => names,
    (f) =>
      f
        .then("read", (name): Draft => {
          if (name === "") throw new Error("a document without a name");
          return { name, words: name.length * 50, rounds: 0 };
        })
        .loop(
          "shorten",
          (g) =>
            g.then("rewrite", (draft) =>
              draft.words > WORDS_MAX
                ? again({ ...draft, words: draft.words / 2, rounds: draft.rounds + 1 })
                : done(draft),
            ),
          { maxIterations: 10 },
        )
        .then("store", ({ name, rounds }) => `${name} after ${rounds} rounds`),
    { concurrency: 2, onError: "settle" },
  )
  .then("report", (outcomes) =>
    outcomes.map((each) => (each.ok ? each.value : `failed: ${each.failure.message}`)),
  )
  .build();
