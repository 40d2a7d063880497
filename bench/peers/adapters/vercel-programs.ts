// The programs in the form that Vercel's compiler needs: functions with directives, in a separate file (vercel.ts).
//   A workflow runs in a sandbox without access to this process; a step runs outside of it.

import { createHook } from "workflow";
import type { Input, Work } from "../peer.ts";

async function step(value: number, id: string, index: number): Promise<number> {
  "use step";
  const { benchWork } = globalThis as unknown as { benchWork: Work }; // vercel.ts put it there
  return benchWork.step(value, { id, index });
}

export async function row({ id, n, value }: Input): Promise<number> {
  "use workflow";
  for (let i = 0; i < n; i++) value = await step(value, id, i);
  return value;
}

export async function fan({ id, n }: Input): Promise<number> {
  "use workflow";
  const steps = Array.from({ length: n }, (_, i) => step(i, id, i));
  return (await Promise.all(steps)).reduce((sum, value) => sum + value, 0);
}

export async function wait({ id }: Input): Promise<number> {
  "use workflow";
  return await createHook<number>({ token: id });
}
