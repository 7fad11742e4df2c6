package android.content.pm;

import android.content.Intent;

public abstract class PackageManager {
    public static class NameNotFoundException extends Exception {}
    public abstract PackageInfo getPackageInfo(String name, int flags) throws NameNotFoundException;
    public abstract ResolveInfo resolveActivity(Intent intent, int flags);
    public abstract Intent getLaunchIntentForPackage(String name);
}
