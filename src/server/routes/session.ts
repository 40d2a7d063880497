// Who am I, and a cookie in place of a token.

import * as v from "valibot";
import { Refusal } from "../problems.ts";
import { isLoopback, type RequestFacts } from "../request-facts.ts";
import { ROLES } from "../roles.ts";
import { acts, answers } from "../route.ts";
import { sessionCookie, type CookieScope } from "../sessions.ts";

const row = { path: "/session", tag: "session", role: "viewer", changes: false } as const;

export const sessionRoutes = [
  answers({
    ...row,
    method: "GET",
    operation: "readSession",
    summary: "Who the caller is and what it may do.",
    answer: v.object({ name: v.string(), role: v.picklist(ROLES), readOnly: v.boolean() }),
    run: async ({ caller: { name, role }, services: { settings } }) => ({
      name,
      role,
      readOnly: settings.readOnly,
    }),
  }),
  acts({
    ...row,
    method: "POST",
    operation: "openSession",
    summary: "Exchanges the token in the Authorization header for a cookie.",
    run: async ({ caller, services: { access }, facts, base }) => {
      if (caller.tokenHash === null) {
        throw new Refusal("FORBIDDEN", "A session is made from a token; show one.");
      }
      return {
        headers: { "Set-Cookie": access.sessions.open(caller.tokenHash, scope(facts, base)) },
      };
    },
  }),
  acts({
    ...row,
    method: "DELETE",
    operation: "closeSession",
    summary: "Ends the session and takes the cookie away.",
    run: async ({ services: { access }, request, facts, base }) => {
      const cookie = sessionCookie(request.headers.get("cookie"), facts.port);
      return { headers: { "Set-Cookie": access.sessions.close(cookie, scope(facts, base)) } };
    },
  }),
];

function scope({ port, https, hostname }: RequestFacts, base: string): CookieScope {
  return { port, path: base === "" ? "/" : base, secure: https || !isLoopback(hostname) };
}
