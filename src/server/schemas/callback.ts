// Answers about callbacks.

import * as v from "valibot";

export const callbackAnswer = v.object({ status: v.picklist(["completed", "accepted"]) });
