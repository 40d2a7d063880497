// node examples/hello-world/main.ts [FILE]: one orchestration, one activity, one answer.
// With a file it remembers: kill it and run it again, and each person is greeted only once.

import { activity, orchestration, Perdure } from "../../src/index.ts";

const greet = activity("greet", async (name: string) => {
  console.log(`greeting ${name}`);
  return `Hello, ${name}`;
});

const hello = orchestration("hello", async (ctx, names: readonly string[]) => {
  const greetings: string[] = [];
  for (const name of names) {
    greetings.push(await ctx.run(greet, name));
    await ctx.sleep("200ms");
  }
  return greetings;
});

await using perdure = await Perdure.open(`sqlite:${process.argv[2] ?? ":memory:"}`, {
  register: [hello, greet],
});
const handle = await perdure.client.start(hello, ["Ada", "Grace", "Barbara"], {
  id: "hello-1",
  onConflict: "useExisting",
});
console.log(await handle.result());
