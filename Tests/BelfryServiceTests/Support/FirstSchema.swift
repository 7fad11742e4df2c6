import Foundation

@testable import BelfryService

/// Rows of a database as `0001` made it, with names as they were stored then: in whatever normal form, and in lower case.
enum FirstSchema {
    /// `zürich`, decomposed.
    static let decomposed = "zu\u{308}rich"
    static let user = "ju\u{308}rgen"

    static func fill(_ db: some SQLConnection) throws {
        func run(_ statement: SQLText) throws { try db.run(script: statement) }
        try run(
            """
            INSERT INTO application (id, uuid, name, api_key_hash, shared_secret, created_at_ms, tenant_id)
            VALUES (1, \(uuid: 1), 'Ba\u{308}ckerei', \(bytes: "01"), \(bytes: "02"), 1, 1);
            INSERT INTO platform (id, uuid, application_id, kind, mode, name, secret_hash, credentials, credentials_version, created_at_ms)
            VALUES (1, \(uuid: 2), 1, 'ios', 'production', 'phones', \(bytes: "01"), \(bytes: "02"), 1, 1);
            INSERT INTO topic (id, application_id, name, expires_at_ms) VALUES
                (1, 1, 'zürich', 32503680000000), (2, 1, '\(decomposed) ', NULL), (3, 1, ' strasse', NULL),
                (4, 1, 'straße', 32503680000000), (5, 1, 'ποδος', NULL), (6, 1, 'ποδοσ', NULL), (7, 1, 'ǆ', NULL),
                (8, 1, 'gru\u{308}n', 1);
            INSERT INTO location (id, application_id, name, search, latitude, longitude, radius, created_at_ms, updated_at_ms)
            VALUES (1, 1, 'Stra\u{df}e Zu\u{308}rich', 'stra\u{df}e zu\u{308}rich', 1, 2, 100, 1, 1);
            INSERT INTO location_group (id, application_id, name, summary, search, created_at_ms, updated_at_ms)
            VALUES (1, 1, 'A', 'u\u{308}ber', 'a u\u{308}ber', 1, 1);
            INSERT INTO geofence (id, application_id, trigger_type, platform, tags, data, starts_at_ms, expires_at_ms, phase, due_at_ms,
                                  created_at_ms, updated_at_ms)
            VALUES (1, 1, 'enter', 'all', '["stra\u{df}e","\(decomposed)","zürich"]', '{"ios":{"alertBody":"x"}}', 0, 32503680000000,
                    0, 1, 1, 1);
            INSERT INTO push (id, receipt_id, application_id, lane, guarantee, accepted_at_ms, content, audience) VALUES
                (1, \(uuid: 3), 1, 1, 0, 1, '{"body":"x"}',
                 '["any:3","topic: \(decomposed)","topic:zürich","custom_user:\(user)"]');
            INSERT INTO schedule (id, application_id, due_at_ms, guarantee, content, target, created_at_ms) VALUES
                (1, 1, 32503680000000, 0, '{"body":"x"}',
                 '{"topics":["ποδος","\(decomposed)"],"customUserIDs":["\(user) "],"isInteractiveOnly":false}', 1);
            INSERT INTO acrobits_registration (id, application_id, selector, app_id, token, platform_id, device_uuid, account, seen_at_ms)
            VALUES (1, 1, 'é', 'app', 'a', 1, \(uuid: 4), 'é', 5), (2, 1, 'e\u{301}', 'app', 'b', 1, \(uuid: 5), 'e\u{301}', 9),
                   (3, 1, 'o\u{308}', 'app', 'c', 1, \(uuid: 6), NULL, 9);
            INSERT INTO carma_device (id, application_id, contact, token, platform_id, device_uuid, invalidation)
            VALUES (1, 1, '\(user)', 'a', 1, \(uuid: 7), 0);
            INSERT INTO person (id, email, name, scope, password_hash, created_at_ms) VALUES
                (1, 'jürgen@example.com', 'A', 'operator', '', 1), (2, 'ju\u{308}rgen@example.com', 'B', 'operator', '', 1),
                (3, 'o\u{308}@example.com', 'O\u{308}', 'operator', '', 1);
            """)
        try fillUsers(db)
        try fillDevices(db)
    }

    private static func fillUsers(_ db: some SQLConnection) throws {
        try db.run(
            script: """
                INSERT INTO app_user (id, application_id, public_id, language, attributes, created_at_ms, updated_at_ms) VALUES
                    (1, 1, 'jürgen', NULL, '{"age":40,"größe":1}', 10, 20),
                    (2, 1, '\(user)', 'de', '{"age":41,"Stadt":"\(decomposed)","gro\u{308}\u{df}e2":2}', 5, 30),
                    (3, 1, 'o\u{308}', NULL, '{"e\u{301}":true}', 1, 1), (4, 1, ' plain', NULL, '{"a":1}', 1, 1),
                    (5, 1, 'a\u{308}', NULL, '{"k":1}', 1, 1), (6, 1, 'ä', NULL, '{"weg":"Straße"}', 1, 2);
                INSERT INTO user_attribute (application_id, user_id, name, value)
                VALUES (1, 2, 'Stadt', \(bytes: "78" + decomposed.utf8.map { String($0, radix: 16) }.joined())),
                       (1, 4, 'a', \(bytes: "6e"));
                """)
    }

    /// Devices up to the tenth are in the posting lists, the eleventh is not yet.
    private static func fillDevices(_ db: some SQLConnection) throws {
        let devices: [(id: Int64, reach: Int64, topics: [Int64])] = [
            (1, 1, [1]), (2, 2, [2]), (3, 1, [1, 2]), (4, 0, [2]), (5, 1, [3]), (6, 1, [4]), (7, 1, [5]),
            (8, 1, [6, 7]),
            (9, 1, []), (10, 1, [8]), (11, 1, [2]),
        ]
        let insert: SQLText = """
            INSERT INTO device (id, platform_id, reach, registered_at_ms, token_hash, token, topics, custom_user_id, alias)
            VALUES ($1, 1, $2, 1, \(sqlite: "$1", postgres: "gen_random_uuid()"), $3, $4, $5, $6)
            """
        for device in devices {
            let user: String? = [1: "jürgen", 2: Self.user][device.id]
            try db.prepared(insert).run(
                device.id, device.reach, Array("token \(device.id)".utf8), TopicList.encode(device.topics), user,
                device.id == 9 ? "O\u{308}mer STRASSE" : nil as String?)
        }
        for topic in Int64(1)...8 {
            let list = devices.filter { $0.reach > 0 && $0.id <= 10 && $0.topics.contains(topic) }.map(\.id)
            try db.add(list, to: SubscriptionList(topic: topic, platform: Key(1)))
        }
        try db.run(
            script: """
                UPDATE subscription_mark SET device_id = 10;
                \(postgres: "UPDATE device_horizon SET settled_device_id = 11, newest_device_id = 11;")
                \(postgres: "SELECT setval(pg_get_serial_sequence('device', 'id'), 11);")
                \(postgres: "SELECT setval(pg_get_serial_sequence('topic', 'id'), 8);")
                \(postgres: "SELECT setval(pg_get_serial_sequence('app_user', 'id'), 4);")
                """)
    }
}

extension SQLText.StringInterpolation {
    fileprivate mutating func appendInterpolation(uuid number: Int) {
        let hex = String(repeating: "0", count: 31) + String(number, radix: 16)
        appendInterpolation(sqlite: "x'\(hex)'", postgres: "'\(hex)'")
    }

    fileprivate mutating func appendInterpolation(bytes hex: String) {
        appendInterpolation(sqlite: "x'\(hex)'", postgres: "'\\x\(hex)'")
    }
}
