import BelfryCore
import GRDB

/// nil when the row makes no sense. What is the database's own trouble is thrown.
func readable<Value>(_ read: () throws -> Value) throws -> Value? {
    do {
        return try read()
    } catch let error as DatabaseError {
        throw error
    } catch {
        return nil
    }
}

extension WriteSession {
    /// Puts a page out of the way of the others; returns nil.
    func setAside(_ page: Key<Page>, now: Instant) throws -> Page? {
        try prepared(PageStatements.setAside).run(now + Damage.setAsideFor, page)
        effects.damaged.append("page \(page)")
        return nil
    }

    /// Puts a walk whose push cannot be read out of the way of the others; returns nil.
    func setAside(walkOf push: Key<Push>, on platform: Key<Platform>, now: Instant) throws -> Walk? {
        try prepared(WalkStatements.setAside).run(now + Damage.setAsideFor, push, platform)
        effects.damaged.append("push \(push)")
        return nil
    }
}
