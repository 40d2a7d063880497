// Who is logged in, and what they may do.
//   SE1. What the server allows is decided there; here it is only shown, so that no control leads to a refusal.

import { createContext, useContext } from "react";
import type { Role, Session } from "./types.ts";

export const SessionContext = createContext<Session | null>(null);

const RANKS: Readonly<Record<Role, number>> = { viewer: 0, operator: 1, admin: 2 };

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("No session is open.");
  return session;
}

/** Why the caller may not do what needs this role; null: it may. `what` names the action. */
export function whyNot(session: Session, needed: Role, what = "This"): string | null {
  if (session.readOnly) return "The server is read-only.";
  if (RANKS[session.role] >= RANKS[needed]) return null;
  return `${what} needs the role ${needed}; yours is ${session.role}.`;
}
