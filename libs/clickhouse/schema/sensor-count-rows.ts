/** The `source` of what `noisefloor simulate` has stored, which no service took in. */
export const SIMULATION = "simulation";

/**
 * SQL: whether a row is shown to those who see some workspaces. Records of no workspace are shown with the empty one. A
 * rejected record without a key is of no workspace: of a sensor that writes to one which is not shown, it would give
 * away the name.
 * @param workspaces SQL: a list or an array.
 * @param table of the rows, as SQL names it.
 * @param since SQL: which rows say where a sensor writes to; all, if left out.
 */
export const isShownActivity = (workspaces: string, table: string, since = "1") =>
  `(workspace_id IN ${workspaces}
        AND (workspace_id != '' OR outcome = 'accepted' OR (source, key_id, sensor_id) NOT IN (
          SELECT source, key_id, sensor_id FROM ${table}
          WHERE ${since} AND workspace_id NOT IN ${workspaces})))`;
