/// The shape of a send request. Source: FCM HTTP v1 reference, `projects.messages`.
enum FCMShape {
    static let request = JSONShape.object(["validate_only": .bool, "message": message])

    private static let message = JSONShape.object([
        "token": .string, "topic": .string, "condition": .string, "fid": .string, "name": .string,
        "data": .texts,
        "notification": .object(["title": .string, "body": .string, "image": .string]),
        "fcm_options": .object(["analytics_label": .string]),
        "android": android, "apns": apns, "webpush": webpush,
    ])

    private static let android = JSONShape.object([
        "collapse_key": .string, "priority": .oneOf(["NORMAL", "HIGH"]), "ttl": .duration,
        "restricted_package_name": .string, "data": .texts, "notification": androidNotification,
        "fcm_options": .object(["analytics_label": .string]), "direct_boot_ok": .bool,
        "bandwidth_constrained_ok": .bool, "restricted_satellite_ok": .bool,
    ])

    private static let androidNotification = JSONShape.object([
        "title": .string, "body": .string, "icon": .string, "color": .string, "sound": .string, "tag": .string,
        "click_action": .string, "body_loc_key": .string, "body_loc_args": .strings, "title_loc_key": .string,
        "title_loc_args": .strings, "channel_id": .string, "ticker": .string, "sticky": .bool, "event_time": .string,
        "local_only": .bool,
        "notification_priority": .oneOf([
            "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH", "PRIORITY_MAX",
        ]),
        "default_sound": .bool, "default_vibrate_timings": .bool, "default_light_settings": .bool,
        "vibrate_timings": .list(.duration),
        "visibility": .oneOf(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]),
        "notification_count": .integer,
        "light_settings": .object([
            "color": .object(["red": .number, "green": .number, "blue": .number, "alpha": .number]),
            "light_on_duration": .duration, "light_off_duration": .duration,
        ]),
        "image": .string, "bypass_proxy_notification": .bool,
        "proxy": .oneOf(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]),
    ])

    private static let apns = JSONShape.object([
        "headers": .texts, "payload": .anything, "live_activity_token": .string,
        "fcm_options": .object(["analytics_label": .string, "image": .string]),
    ])

    private static let webpush = JSONShape.object([
        "headers": .texts, "data": .texts, "notification": .anything,
        "fcm_options": .object(["link": .string, "analytics_label": .string]),
    ])
}
