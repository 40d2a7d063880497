// A runtime on virtual time for a recipe, and a network that a test controls.

import { onTestFinished, vi } from "vitest";
import type { Registrable } from "../../../src/index.ts";
import { TestEnvironment } from "../../../src/testing/index.ts";

export async function kitOf(...register: Registrable[]): Promise<TestEnvironment> {
  const kit = await TestEnvironment.create({ register });
  onTestFinished(() => kit.close());
  return kit;
}

export interface Sent {
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
}

/** Answers every `fetch` of the test with the next answer; the last one stays. Returns what was sent. */
export function network(
  ...answers: readonly { readonly status?: number; body?: unknown }[]
): Sent[] {
  const sent: Sent[] = [];
  vi.stubGlobal("fetch", async (url: string, init: RequestInit = {}) => {
    const { status = 200, body = null } = answers[Math.min(sent.length, answers.length - 1)] ?? {};
    sent.push({ url, headers: new Headers(init.headers), body: String(init.body) });
    return Response.json(body, { status });
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  return sent;
}
