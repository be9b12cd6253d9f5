-- Views for people who write their own panels. They read with the rights of the asking user, so that its row policies
-- hold here, too. Each groups by columns of its table's sorting key: a filter outside reaches that key.
CREATE VIEW IF NOT EXISTS tag_catalogue SQL SECURITY INVOKER AS
SELECT id AS tag_id, slug AS tag, name, category, toString(intention) AS intention, description, references, cves,
    recommend_block, created_at
FROM tags FINAL
