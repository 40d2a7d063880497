// Polling until ready: asking a service that does not call back. docs/cookbook/polling.md shows this file.

import { activity, orchestration } from "../../src/index.ts";

type Rendering =
  | { readonly state: "running" }
  | { readonly state: "ready"; readonly url: string }
  | { readonly state: "failed"; readonly reason: string };

export const look = activity("look", async (id: string, { signal }) => {
  const response = await fetch(`https://render.example/${id}`, { signal });
  if (!response.ok) throw new Error(`the farm answered ${response.status}`);
  return (await response.json()) as Rendering;
});

export const awaitRendering = orchestration("awaitRendering", async (ctx, id: string) => {
  const end = ctx.now().getTime() + 24 * 3_600_000;
  for (let pause = 5_000; ctx.now().getTime() < end; pause = Math.min(2 * pause, 600_000)) {
    const rendering = await ctx.run(look, id, { attempts: 5, timeout: "10s" });
    if (rendering.state === "ready") return rendering.url;
    if (rendering.state === "failed") throw new Error(rendering.reason);
    await ctx.sleep(pause); // 5 s, 10 s, 20 s … 10 min
  }
  throw new Error(`${id} was not ready after a day`);
});
