import BelfryService

/// The keys of a kind of platform, folded together in the form.
struct ComposeGroup: Sendable {
    let title: String
    let text: String
    let keys: [ComposeKey]
    let rests: [ExtraJSONField]
}

/// The keys that the API takes for each platform, as groups of fields.
enum ComposeKeys {
    private static let custom = ["message", "custom"]

    /// The groups for the kinds of platform that an application has.
    static func groups(_ kinds: [PlatformKind]) -> [ComposeGroup] {
        var groups: [ComposeGroup] = []
        if kinds.contains(.ios) { groups.append(ios) }
        if kinds.contains(where: \.isApple) { groups.append(apns) }
        if kinds.contains(where: \.isAndroidLike) { groups.append(android(kinds)) }
        if kinds.contains(.web) { groups.append(web) }
        if kinds.contains(.windows8) { groups.append(windows) }
        if kinds.contains(.windowsPhone) { groups.append(windowsPhone) }
        if kinds.contains(.bb10) { groups.append(blackBerry) }
        return groups
    }

    // MARK: Apple

    private static let ios: ComposeGroup = {
        let root = custom + ["ios"]
        let alert = root + ["alert"]
        return ComposeGroup(
            title: "iOS, iPadOS, macOS", text: "Keys of aps and its alert, in Apple's words.",
            keys: [
                ComposeKey(alert + ["title"], "Title"), ComposeKey(alert + ["subtitle"], "Subtitle"),
                ComposeKey(alert + ["body"], "Text", .text, hint: "Empty: the message."),
                ComposeKey(root + ["sound"], "Sound", hint: "default, or a file of the app."),
                ComposeKey(root + ["badge"], "Badge", .badge, hint: "A number, or +1 to count up."),
                ComposeKey(root + ["category"], "Category", hint: "Its buttons are in the app."),
                ComposeKey(root + ["thread-id"], "Thread", hint: "Notifications of one are grouped."),
                ComposeKey(
                    root + ["interruption-level"], "Interruption level",
                    strings("passive", "active", "time-sensitive", "critical")),
                ComposeKey(root + ["relevance-score"], "Relevance", .fraction, hint: "0 to 1, in the summary."),
                ComposeKey(root + ["target-content-id"], "Window", hint: "target-content-id"),
                ComposeKey(root + ["filter-criteria"], "Focus filter", hint: "filter-criteria"),
                ComposeKey(alert + ["launch-image"], "Launch image"),
                ComposeKey(alert + ["title-loc-key"], "Title's key in the app's texts"),
                ComposeKey(alert + ["title-loc-args"], "Its arguments", .lines, hint: "One a line."),
                ComposeKey(alert + ["subtitle-loc-key"], "Subtitle's key"),
                ComposeKey(alert + ["subtitle-loc-args"], "Its arguments", .lines, hint: "One a line."),
                ComposeKey(alert + ["loc-key"], "Text's key"),
                ComposeKey(alert + ["loc-args"], "Its arguments", .lines, hint: "One a line."),
                ComposeKey(alert + ["action-loc-key"], "Button's key"),
                ComposeKey(root + ["mutable-content"], "The app may change it before it is shown", .box(.integer(1))),
                ComposeKey(root + ["content-available"], "Wake the app", .box(.bool(true))),
                ComposeKey(root + ["extra"], "Data beside aps (JSON)", .json),
            ], rests: [ExtraJSONField(root)])
    }()

    private static let apns: ComposeGroup = {
        let root = ["message", "apns"]
        return ComposeGroup(
            title: "Apple's own format: background, calls, Live Activities, widgets",
            text: "In place of the keys above: the payload as Apple documents it, for one push type.",
            keys: [
                ComposeKey(
                    root + ["type"], "Push type",
                    .choice(ApplePush.Kind.allCases.map { ($0.rawValue, .string($0.rawValue)) })),
                ComposeKey(
                    root + ["priority"], "Priority",
                    .choice(ApplePush.Priority.allCases.map { ("\($0.rawValue)", .integer($0.rawValue)) })),
                ComposeKey(root + ["collapse_id"], "Collapse id", hint: "A later one replaces an earlier one."),
                ComposeKey(
                    root + ["store"], "Kept for devices that are off",
                    .choice([("yes", .bool(true)), ("no", .bool(false))])),
                ComposeKey(
                    root + ["payload"], "Payload (JSON)", .json, hint: #"Such as {"aps": {"alert": "Hello"}}."#),
            ], rests: [ExtraJSONField(root)])
    }()

    // MARK: Android

    private static func android(_ kinds: [PlatformKind]) -> ComposeGroup {
        let root = custom + ["android"]
        let own: [(PlatformKind, String)] = [
            (.androidFCM, "android-fcm"), (.androidBaidu, "android-baidu"), (.huawei, "huawei"), (.amazon, "amazon"),
        ]
        return ComposeGroup(
            title: "Android", text: "A flat map of texts, which the app reads; message is what its user sees.",
            keys: [
                ComposeKey(root + ["title"], "Title"),
                ComposeKey(root + ["message"], "Text", .text, hint: "Empty: the message."),
                ComposeKey(
                    root + ["collapse_key"], "Collapse key", hint: "Of those that wait only the last is delivered."),
                ComposeKey(
                    root + ["priority"], "Priority of data that is not shown", strings("high"),
                    hint: "What is shown is always high."),
            ],
            rests: [ExtraJSONField(root, "Data (JSON)", hint: #"Such as {"story": "17"}."#)]
                + own.filter { kinds.contains($0.0) }.map { kind, name in
                    ExtraJSONField(custom + [name], "\(kind.title) alone (JSON)", hint: "In place of all of these.")
                })
    }

    // MARK: Browsers

    private static let web: ComposeGroup = {
        let root = ["message", "web"]
        return ComposeGroup(
            title: "Browsers", text: "A notification in the terms of the web. It needs a title.",
            keys: [
                ComposeKey(root + ["title"], "Title"),
                ComposeKey(root + ["body"], "Text", .text, hint: "Empty: the message."),
                ComposeKey(root + ["icon"], "Icon", hint: "https, or a path of the site."),
                ComposeKey(root + ["image"], "Picture"),
                ComposeKey(root + ["badge"], "Badge picture", hint: "In one colour, for Android's status bar."),
                ComposeKey(root + ["navigate"], "Opens"),
                ComposeKey(
                    root + ["actions"], "Buttons", .actions,
                    hint: "One a line, four at most: name | title | page | icon. Browsers show two."),
                ComposeKey(root + ["data"], "Data (JSON)", .json),
                ComposeKey(
                    root + ["topic"], "Topic at the push service",
                    hint: "Replaces the one before of the same topic. Up to 32 letters, digits, - and _."),
                ComposeKey(
                    root + ["urgency"], "Urgency for a browser on battery",
                    .choice(WebMessage.Urgency.allCases.map { ($0.rawValue, .string($0.rawValue)) })),
                ComposeKey(root + ["ttl"], "Kept for seconds", .whole, hint: "0: now or never."),
                ComposeKey(root + ["app_badge"], "Number on the icon", .badge, hint: "A number, or +1 to count up."),
                ComposeKey(root + ["lang"], "Language", hint: "Such as en-GB."),
                ComposeKey(root + ["dir"], "Direction", strings("auto", "ltr", "rtl")),
                ComposeKey(root + ["silent"], "No sound", .box(.bool(true))),
                ComposeKey(root + ["require_interaction"], "Stays until it is clicked", .box(.bool(true))),
            ],
            rests: [
                ExtraJSONField(root),
                ExtraJSONField(
                    custom + ["web"], "For a worker of your own (JSON)",
                    hint: "Any object, in place of the notification above."),
            ])
    }()

    // MARK: Windows and BlackBerry

    private static let windows: ComposeGroup = {
        let root = custom + ["windows8"]
        return ComposeGroup(
            title: "Windows", text: "Without any of these a toast shows the message.",
            keys: [
                ComposeKey(root + ["type"], "Type", strings("toast", "tile", "badge", "raw")),
                ComposeKey(root + ["template_name"], "Template", hint: "Such as ToastText02."),
                ComposeKey(
                    root + ["template_fields"], "Its fields (JSON)", .json,
                    hint: #"Such as {"textField1": "Hello", "imgSrc1": "https://…"}."#),
                ComposeKey(root + ["options", "launch"], "Launch", hint: "What the app gets when it is clicked."),
                ComposeKey(root + ["options", "duration"], "Duration", strings("short", "long")),
                ComposeKey(
                    root + ["options", "audioSrc"], "Sound", hint: "Such as ms-winsoundevent:Notification.Mail."),
                ComposeKey(root + ["options", "audioLoop"], "Repeat the sound", .box(.bool(true))),
                ComposeKey(root + ["options", "audioSilent"], "No sound", .box(.bool(true))),
            ], rests: [ExtraJSONField(root)])
    }()

    private static let windowsPhone: ComposeGroup = {
        let root = custom + ["windowsPhone"]
        return ComposeGroup(
            title: "Windows Phone", text: "Without any of these a toast shows the message.",
            keys: [
                ComposeKey(
                    root + ["template"], "Template",
                    strings("toast", "tile", "flipTile", "cycleTile", "iconicTile", "raw")),
                ComposeKey(
                    root + ["template_fields"], "Its fields (JSON)", .json,
                    hint: #"Such as {"subtitle": "Hello", "parameter": "/Page.xaml"}."#),
            ], rests: [ExtraJSONField(root)])
    }()

    private static let blackBerry = ComposeGroup(
        title: "BlackBerry 10", text: "",
        keys: [ComposeKey(custom + ["bb10"], "Text", .text, hint: "Empty: the message.")], rests: [])

    private static func strings(_ choices: String...) -> ComposeKey.Kind {
        .choice(choices.map { ($0, .string($0)) })
    }
}

extension PlatformKind {
    /// Whether its devices get a flat map of texts.
    var isAndroidLike: Bool {
        switch self {
        case .android, .androidFCM, .androidBaidu, .huawei, .amazon: true
        case .apple, .windows8, .windowsPhone, .bb10, .web, .webhook: false
        }
    }
}
