// The bodies of repairs over HTTP.

import type { ForkOptions } from "../../client/repair/fork.ts";
import type { RestartOptions } from "../../client/repair/restart.ts";
import type { RewindOptions } from "../../client/repair/rewind.ts";
import type { Replacement } from "../../core/repair/replace.ts";
import { toHttp, valueToHttp } from "../views/values.ts";
import { member } from "../wire/instance.ts";

/** The options of `Client.fork` without `requestDigest`, which the server derives from the body. */
export type HttpForkOptions = Omit<ForkOptions, "requestDigest">;

export function rewindBody({ requestId: _requestId, replace, ...rest }: RewindOptions): object {
  return { ...rest, ...replaceBody(replace) };
}

export function restartBody(options: RestartOptions): object {
  const { requestId: _requestId, input: _input, ...rest } = options;
  return { ...rest, ...inputBody(options) };
}

export function forkBody(options: HttpForkOptions): object {
  const { requestId: _requestId, input: _input, replace, ...rest } = options;
  return { ...rest, ...inputBody(options), ...replaceBody(replace) };
}

/** Without the member, the instance keeps its input. */
function inputBody(options: { readonly input?: unknown }): object {
  return "input" in options ? { input: valueToHttp(options.input) } : {};
}

function replaceBody(list: readonly Replacement[] | undefined): object {
  if (list === undefined) return {};
  const replace = list.map(({ sequence, output }) => ({
    sequence,
    ...member("output", toHttp(output)),
  }));
  return { replace };
}
