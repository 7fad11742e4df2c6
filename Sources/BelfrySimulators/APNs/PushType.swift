/// The values of `apns-push-type`, and the suffix that each requires of the topic.
///
/// Source: Apple, "Sending notification requests to APNs"; `widgets` and `controls` from the WidgetKit documentation.
enum PushType: String, CaseIterable {
    case alert, background, voip, complication, fileprovider, mdm, location, liveactivity, pushtotalk, widgets, controls

    var topicSuffix: TopicSuffix {
        switch self {
        case .alert, .background, .mdm: .none
        case .voip: .voip
        case .complication: .complication
        case .fileprovider: .fileprovider
        case .location: .location
        case .liveactivity: .liveactivity
        case .pushtotalk: .pushtotalk
        case .widgets: .widgets
        case .controls: .controls
        }
    }
}

/// The suffix of a topic after the bundle id.
enum TopicSuffix: String, CaseIterable {
    case none = ""
    case voip = ".voip"
    case complication = ".complication"
    case fileprovider = ".pushkit.fileprovider"
    case location = ".location-query"
    case liveactivity = ".push-type.liveactivity"
    case pushtotalk = ".voip-ptt"
    case widgets = ".push-type.widgets"
    case controls = ".push-type.controls"

    init(of topic: String) {
        self = Self.allCases.first { $0 != .none && topic.hasSuffix($0.rawValue) } ?? .none
    }
}
