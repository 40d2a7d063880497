// What blocks of docs/walks.md take for granted: the activity and the event of the order that is walked through.
// The package is imported whole, because a block may import the same names itself.

import * as library from "perdure";

const charge = library.activity("charge", async (cents: number) => `receipt for ${cents} cents`);
const approval = library.event<{ by: string }>("approval");
