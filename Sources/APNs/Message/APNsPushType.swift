/// The purpose of a push. It decides the topic's suffix, the accepted priorities and the size limit of a payload.
///
/// Source: Apple, "Sending notification requests to APNs", `apns-push-type`; widgets and controls from WidgetKit.
public enum APNsPushType: String, Sendable, Hashable, CaseIterable {
    case alert
    case background
    case voip
    case complication
    case fileProvider = "fileprovider"
    case mdm
    case location
    case liveActivity = "liveactivity"
    case pushToTalk = "pushtotalk"
    case widgets
    case controls

    /// The suffix of the topic after the bundle id.
    public var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileProvider: ".pushkit.fileprovider"
        case .location: ".location-query"
        case .liveActivity: ".push-type.liveactivity"
        case .pushToTalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    /// The accepted priorities, the default first.
    public var priorities: [APNsPriority] {
        switch self {
        case .background: [.considerate]
        case .liveActivity, .location: [.immediate, .considerate]
        case .pushToTalk: [.immediate]
        default: [.immediate, .considerate, .low]
        }
    }

    /// The most bytes a payload may have.
    public var payloadBytesMax: Int { self == .voip ? 5_120 : 4_096 }
}

/// How eagerly a push is delivered. Source: Apple, "Sending notification requests to APNs", `apns-priority`.
public enum APNsPriority: Int, Sendable, Hashable, CaseIterable {
    /// At once.
    case immediate = 10
    /// Considering the device's power.
    case considerate = 5
    /// Prioritizes power; never wakes the device.
    case low = 1
}
