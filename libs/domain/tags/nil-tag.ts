/** Under this tag rollups have every observation, also those without tags. No tag of the catalogue has this id. */
export const NIL_TAG_ID = "00000000-0000-0000-0000-000000000000";
