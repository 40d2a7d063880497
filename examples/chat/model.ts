// The stand-in for a language model: 2,000 tokens for every question, spread over some seconds.
//   It needs no network and always gives the same answer, so that a test can compare what a page shows. A real model
//   would be called at the same place and need not be deterministic.

import { setTimeout as pause } from "node:timers/promises";

const SENTENCES = 200;

/** All tokens of the answer, 10 per sentence. */
export function answerTo(question: string): readonly string[] {
  const topics = question.split(/\s+/).filter(Boolean);
  return Array.from({ length: SENTENCES }, (_, place) => {
    const topic = topics[place % topics.length] ?? "nothing";
    const text = `Thought ${place + 1} about “${topic}”: it follows thought ${place} without delay.`;
    return text.split(" ").map((word) => `${word} `);
  }).flat();
}

/** The tokens as they come. All of them take `seconds`. */
export async function* model(
  question: string,
  { seconds, signal }: { readonly seconds: number; readonly signal: AbortSignal },
): AsyncGenerator<string, void, undefined> {
  const begun = performance.now();
  const tokens = answerTo(question);
  for (const [place, token] of tokens.entries()) {
    const early = begun + (place / tokens.length) * seconds * 1_000 - performance.now();
    if (early > 0) await pause(early, undefined, { signal });
    yield token;
  }
}
