// Commands that show one aspect of a whole store, as a document or as text.

import { defineCommand, type CommandHelp, type Program } from "../../define-command.ts";
import { Session } from "../../store/session.ts";
import type { Screen } from "../../text/screen.ts";

interface StoreView<View> {
  read(session: Session): Promise<View>;
  /** The JSON document. */
  document(view: View): object;
  print(view: View, screen: Screen, session: Session): void;
}

export function addStoreView<View>(
  program: Program,
  help: CommandHelp,
  { read, document, print }: StoreView<View>,
): void {
  defineCommand(program, help, async (call) => {
    const { cli, options, args } = call;
    await using session = await Session.open(call, { given: args[0], access: "read" });
    const view = await read(session);
    if (options.json === true) cli.out.document(document(view));
    else print(view, cli.out, session);
    return 0;
  });
}
