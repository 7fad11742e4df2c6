/// Users, and what lets clients of other systems in.
extension Schema {
    static let users = SchemaPart(
        [
            StoreTable("app_user", rows: .quota(.users), of: .application),
            StoreTable("user_attribute", rows: .perRow("app_user", UserProfile.attributesMax), of: .application),
            StoreTable("device_detail", rows: .perRow("device", 1), key: "platform_id, device_id", of: .platform),
        ],
        sql: """
            -- Found by `public_id`, the custom user id of the user's devices. `attributes` is a JSON object; see `UserAttribute`.
            CREATE TABLE app_user (
                id \(.key),
                application_id \(.bigint) NOT NULL REFERENCES application (id),
                public_id text \(postgres: "COLLATE \"C\"") NOT NULL CHECK (length(public_id) > 0),
                language text,
                time_zone text,
                attributes text NOT NULL,
                created_at_ms \(.bigint) NOT NULL,
                updated_at_ms \(.bigint) NOT NULL
            ) \(.byID);
            CREATE UNIQUE INDEX app_user_public ON app_user (application_id, public_id);

            -- The attributes again, to find the users by: `value` as `UserAttribute.indexed` has it.
            CREATE TABLE user_attribute (
                id \(.key),
                application_id \(.bigint) NOT NULL,
                user_id \(.bigint) NOT NULL REFERENCES app_user (id) ON DELETE CASCADE,
                name text \(postgres: "COLLATE \"C\"") NOT NULL,
                value \(.bytes) NOT NULL
            ) \(.byID);
            CREATE INDEX user_attribute_value ON user_attribute (application_id, name, value, user_id);
            CREATE INDEX user_attribute_user ON user_attribute \(postgres: "USING hash ")(user_id);

            -- What is kept of few devices beside their rows; see `DeviceDetail`. Rows may outlive the device: its key is never
            -- reused.
            CREATE TABLE device_detail (
                platform_id \(.bigint) NOT NULL,
                device_id \(.bigint) NOT NULL,
                badge \(.bigint) NOT NULL DEFAULT 0 CHECK (badge >= 0),
                spelling text,
                language text,
                time_zone text,
                PRIMARY KEY (platform_id, device_id)
            ) \(.byKey);
            """)
}
