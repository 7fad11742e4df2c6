/// Users, and what lets clients of other systems in.
extension Schema {
    static let users: SQLText = """
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
        """

    static let openEndpoints: SQLText = """
        -- `allowed`: networks, separated by commas. `options`: a JSON object of texts.
        CREATE TABLE open_endpoint (
            id \(.key),
            application_id \(.bigint) NOT NULL REFERENCES application (id),
            kind text NOT NULL CHECK (kind IN ('genero', 'acrobits-reporter', 'acrobits-mediator')),
            key_hash \(.bytes) NOT NULL UNIQUE,
            allowed text NOT NULL,
            options text NOT NULL,
            created_at_ms \(.bigint) NOT NULL
        ) \(.byID);
        CREATE INDEX open_endpoint_application ON open_endpoint (application_id\(postgres: ", id"));
        CREATE INDEX open_endpoint_kind ON open_endpoint (kind\(postgres: ", id"));

        CREATE TABLE gateway_credential (
            id \(.key),
            platform_id \(.bigint) NOT NULL REFERENCES platform (id),
            fingerprint \(.bytes) NOT NULL UNIQUE CHECK (length(fingerprint) = 32),
            expires_at_ms \(.bigint),
            created_at_ms \(.bigint) NOT NULL
        ) \(.byID);
        CREATE INDEX gateway_credential_platform ON gateway_credential (platform_id\(postgres: ", id"));

        -- Devices that lost the app, until a sender has asked for them.
        CREATE TABLE gateway_feedback (
            id \(.key),
            platform_id \(.bigint) NOT NULL,
            device_id \(.bigint) NOT NULL,
            since_ms \(.bigint) NOT NULL
        ) \(.byID);
        CREATE UNIQUE INDEX gateway_feedback_device ON gateway_feedback (platform_id, device_id);

        -- The active devices of the applications that apps of Genero register with.
        CREATE VIEW genero_token_of_application AS
        SELECT active.application_id, active.id, notification_type, coalesce(spelling, token_text) AS registration_token,
               coalesce(badge, 0) AS badge_number, app_user, reg_date
          FROM (SELECT device.id, device.platform_id, platform.application_id,
                       CASE WHEN platform.kind = 'ios' THEN 'APNS' ELSE 'FCM' END AS notification_type,
                       CASE WHEN platform.kind = 'ios'
                            THEN \(sqlite: "lower(hex(device.token))", postgres: "encode(device.token, 'hex')")
                            ELSE \(sqlite: "CAST(device.token AS TEXT)", postgres: "convert_from(device.token, 'UTF8')")
                       END AS token_text,
                       coalesce(device.custom_user_id, '') AS app_user,
                       \(registeredAt) AS reg_date
                  FROM platform JOIN device ON device.platform_id = platform.id
                 WHERE platform.application_id IN (SELECT application_id FROM open_endpoint WHERE kind = 'genero')
                   AND device.reach > 0 AND platform.kind IN ('ios', 'android', 'android-fcm')) AS active
          LEFT JOIN device_detail
            ON device_detail.platform_id = active.platform_id AND device_detail.device_id = active.id;

        -- Just the columns of the table `tokens` that Genero's token maintainer kept, for push providers that read it.
        CREATE VIEW genero_tokens AS
        SELECT id, notification_type, registration_token, badge_number, app_user, reg_date
          FROM genero_token_of_application;
        """

    /// The time in UTC, with milliseconds.
    private static let registeredAt: SQLText = """
        \(sqlite: "strftime('%Y-%m-%d %H:%M:%f', device.registered_at_ms / 1000.0, 'unixepoch')",
            postgres: "to_char(to_timestamp(device.registered_at_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS')")
        """
}
