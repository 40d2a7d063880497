// node examples/fan-out/main.ts [FILE]: counts the words of a hundred pages, two of them empty.

import { Perdure } from "../../src/index.ts";
import { countAll, countMany, countWords, type Page } from "./word-count.ts";

const pages: Page[] = Array.from({ length: 100 }, (_, index) => ({
  title: `page ${index}`,
  text: index % 50 === 7 ? "" : "to be or not to be",
}));

await using perdure = await Perdure.open(`sqlite:${process.argv[2] ?? ":memory:"}`, {
  register: [countAll, countMany, countWords],
});
const { client } = perdure;

const whole = await client.start(countAll, pages);
await whole.result().catch((error: Error) => console.log(`all at once: ${error.message}`));

const lanes = await client.start(countMany, pages);
console.log("three at a time:", await lanes.result());
