package import BelfryCore
package import BelfryDashboard

/// The dashboard.
package struct DashboardConfiguration: Sendable {
    /// `dashboard.enabled`, default true.
    package var isEnabled: Bool
    /// `dashboard.port`, 0...65535, and `dashboard.host`: a listener of its own, with the certificate of the main one; nil serves it
    /// on the main port.
    package var listener: ListenerConfiguration?
    /// `dashboard.session.idle.minutes`, 5...10,080, default 480, and `dashboard.session.hours`, 1...8,760, default 168.
    package var lifetime: SessionLifetime
    /// `dashboard.passwords.leaked.file`, default none: passwords that nobody may set.
    package var leakedPasswords: LeakedPasswords?

    init(_ settings: Settings) {
        isEnabled = settings.bool("dashboard.enabled", default: true)
        let hasPort = settings.optionalString("dashboard.port") != nil
        let listener = ListenerConfiguration(settings, prefix: "dashboard", port: 0)
        self.listener = isEnabled && hasPort ? listener : nil
        lifetime = SessionLifetime(
            idle: settings.seconds("dashboard.session.idle.minutes", default: 480, in: 5...10_080) * 60,
            absolute: settings.seconds("dashboard.session.hours", default: 168, in: 1...8_760) * 3_600)
        let key = "dashboard.passwords.leaked.file"
        guard let path = settings.optionalString(key), !path.isEmpty else { return }
        do { leakedPasswords = try LeakedPasswords(path: path.absolutePath) } catch {
            leakedPasswords = settings.fault(key, error.problem, nil)
        }
    }
}
