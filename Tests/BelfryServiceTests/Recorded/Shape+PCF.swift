// The answers of the PCF API as its SDKs and documents know them. Source: the SDKs' own response classes, and the pages
// "Registration", "Registrations", "Topics", "Custom User IDs", "Schedule", "Geofences", "Locations" of 1.6.

extension Shape {
    /// A registration as an SDK reads it: every key but `tags` is a scalar or null.
    static let device = Shape.object([
        "device_uuid": .uuid, "os": .string, "os_version": .orNull(.string), "device_model": .orNull(.string),
        "device_manufacturer": .orNull(.string), "device_alias": .orNull(.string),
        "registration_token": .orNull(.string), "active": .bool, "custom_user_id": .orNull(.string),
        "tags": .array(.object(["text": .string])),
    ])

    static let error = Shape.object([
        "timestamp": .time, "status": .integer, "error": .string, "message": .string, "path": .string,
    ])

    static let receipt = Shape.object(["receipt_id": .uuid])
    static let scheduled = Shape.object(["schedule_id": .string])
    static let version = Shape.object(["version": .string])

    static let registrations = page(of: "registrations", "totalRegistrations", device)

    static let topic = Shape.object(["id": .integer, "name": .string], optional: ["expireAt": .time])
    static let topics = page(of: "topics", "totalTopics", topic)
    static let topicsCreated = Shape.object(
        ["numTopicsCreated": .integer, "numTopicsExisted": .integer], optional: ["topics": .array(topic)])
    static let topicsDeleted = Shape.object(["numTopicsDeleted": .integer])
    static let customUserIDs = Shape.object(["custom_user_ids": .array(.string)])

    static let schedule = Shape.object([
        "schedule_id": .string, "scheduled_for": .time,
        "push": .object([
            "scheduleAt": .time, "scheduleIn": .integer, "expiryTime": .orNull(.time),
            "message": .object([:], optional: ["body": .orNull(.string), "custom": .map(.anything)]),
            "target": .object(
                ["interactive-only": .bool],
                optional: [
                    "topics": .array(.string), "platforms": .array(.string), "devices": .array(.string),
                    "custom_user_ids": .array(.string), "platform": .string,
                ]),
        ]),
    ])

    static let location = location(created: "created_at", updated: "updated_at")
    static let locations = page(of: "locations", "totalLocations", location)
    static let group = Shape.object([
        "id": .integer, "name": .string, "description": .string, "created_at": .time, "updated_at": .time,
        // Elsewhere these two have underscores; here the pages have none.
        "locations": .array(location(created: "createdAt", updated: "updatedAt")),
    ])
    static let groups = page(of: "location_groups", "totalLocationGroups", group)

    /// One place where a number is a string or a map is nested spoils the whole answer for an Android SDK.
    static let geofence = Shape.object([
        "id": .integer, "tags": .array(.string), "trigger_type": .word(["enter", "exit"]), "start_time": .time,
        "expiry_time": .time, "platform": .word(["all", "ios", "android", "android-fcm"]), "created_at": .time,
        "updated_at": .time, "locations": .array(location), "data": geofenceData,
    ])
    static let geofences = page(of: "geofences", "totalGeofences", geofence)
    static let geofenceUpdate = Shape.object([
        "num": .integer, "last_modified": .time, "deleted_geofence_ids": .array(.integer),
        "geofences": .array(geofence),
    ])

    private static let geofenceData = Shape.object(
        [:],
        optional: [
            "ios": .object(
                [:],
                optional: [
                    "alertBody": .string, "category": .string, "alertAction": .string, "alertTitle": .string,
                    "alertLaunchImage": .string, "hasAction": .bool, "applicationBadgeNumber": .number,
                    "applicationIconBadgeNumber": .number, "soundName": .string, "userInfo": .map(.anything),
                ]), "android": .map(.string), "androidFcm": .map(.string),
        ])

    private static func location(created: String, updated: String) -> Shape {
        .object([
            "id": .integer, "name": .string, "lat": .string, "long": .string, "rad": .number, created: .time,
            updated: .time,
        ])
    }

    private static func page(of key: String, _ total: String, _ item: Shape) -> Shape {
        .object([key: .array(item), total: .integer, "totalPages": .integer, "page": .integer, "size": .integer])
    }
}
