/// A softphone's report on one account: its selector, and up to two tokens with their app ids.
package struct AcrobitsReport: Sendable, Hashable {
    package var account: String?
    package var selector: String?
    /// Wakes the app for incoming calls; on iOS a token of PushKit.
    package var calls: Pair?
    /// For all other pushes.
    package var other: Pair?
    /// The push that a report of its arrival names.
    package var pushID: String?

    package struct Pair: Sendable, Hashable {
        package let token: AcrobitsToken
        package let appID: String?

        package init(token: AcrobitsToken, appID: String?) {
            self.token = token
            self.appID = appID
        }
    }

    package init(
        account: String? = nil, selector: String? = nil, calls: Pair? = nil, other: Pair? = nil, pushID: String? = nil
    ) {
        self.account = account?.asName
        self.selector = selector?.asName
        self.calls = calls
        self.other = other
        self.pushID = pushID
    }

    package var pairs: [Pair] { [calls, other].compactMap(\.self) }
}
